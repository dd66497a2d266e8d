"""Posts on several pages, some of which get another text or other settings: what is passed on, and how errors name the
page.
"""

from typing import Any

import pytest

from contracts import publishing as api
from contracts.errors import MEDIA_IN_USE, ApiError, invalid
from gateway.routes.several_pages import overrides

A, B = "pag_a", "pag_b"


def asked(*sent: api.PageOverride, page_ids: tuple[str, ...] = (A, B)) -> api.PublishOnPages:
    return api.PublishOnPages(page_ids=page_ids, message="for all", overrides=sent)


def test_each_page_has_what_its_override_sets_and_nothing_else() -> None:
    first, second = overrides.pages_of(asked(api.PageOverride(page_id=B, message=None, settings={"x": 1})))
    assert first == api.PageContent(page_id=A)
    assert second == api.PageContent(page_id=B, message=None, settings={"x": 1})


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ([api.PageOverride(page_id="pag_c")], "overrides[0].page_id"),
        ([api.PageOverride(page_id=A), api.PageOverride(page_id=A)], "overrides[1].page_id"),
    ],
)
def test_a_page_that_is_not_meant_or_named_twice_is_refused(sent: Any, field: str) -> None:
    with pytest.raises(ApiError) as refused:
        overrides.pages_of(asked(*sent))
    assert refused.value.extras["errors"][0]["field"] == field


@pytest.mark.parametrize(
    ("page_id", "field", "named"),
    [
        (B, "message", "overrides[1].message"),
        (B, "youtube_settings.visiblity", "youtube_settings.visiblity"),  # it has set no settings
        (A, "youtube_settings.visiblity", "overrides[0].settings.visiblity"),
        (A, "youtube_settings", "overrides[0].settings"),
        (A, "message", "message"),
        (A, "media_ids[0]", "media_ids[0]"),
    ],
)
def test_an_error_names_the_field_where_the_client_wrote_it(page_id: str, field: str, named: str) -> None:
    request = asked(api.PageOverride(page_id=A, settings={}), api.PageOverride(page_id=B, message="own"))
    problem = invalid(field, "is not a setting; did you mean visibility?")
    problem.extras["page_id"] = page_id
    error = overrides.renamed(problem, request)
    assert error.extras["errors"][0]["field"] == named
    assert error.message == f"{named}: is not a setting; did you mean visibility?"
    finding = api.Finding(code="VALIDATION_ERROR", message=f"{field}: wrong", field=field)
    [found] = overrides.findings_of([finding], page_id, request)
    assert (found.field, found.message) == (named, f"{named}: wrong")


def test_errors_of_no_page_or_without_fields_stay_as_they_are() -> None:
    for problem in (invalid("message", "is wrong"), ApiError(MEDIA_IN_USE, page_id=A)):
        assert overrides.renamed(problem, asked(api.PageOverride(page_id=A, message="x"))) is problem
