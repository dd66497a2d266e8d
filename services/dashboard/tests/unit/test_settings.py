"""The settings of a post, as fields of a form."""

from typing import Any

import pytest
from werkzeug.datastructures import MultiDict

from dashboard import settings
from posthaste.records import YouTubePostSettings

SCHEMA = {
    "title": {
        "anyOf": [{"type": "string", "maxLength": 100}, {"type": "null"}],
        "default": None,
        "description": "Null.",
    },
    "privacy": {"enum": ["private", "public"], "default": "public", "description": "Who sees it."},
    "tags": {"type": "array", "items": {"type": "string"}, "default": []},
    "made_for_kids": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None},
    "notify_subscribers": {"type": "boolean", "default": True},
    "thumb_offset": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
    "article": {"anyOf": [{"$ref": "#/components/schemas/Article"}, {"type": "null"}], "default": None},
}
FIELDS = settings.settings_of(
    {"components": {"schemas": {"YouTubePostSettings": {"properties": SCHEMA}}}},
    "youtube_settings",
    "YouTubePostSettings",
)


def form(**values: str) -> settings.Form:
    return MultiDict({f"set.youtube_settings.{name}": value for name, value in values.items()})


def test_each_setting_has_its_kind_and_objects_are_left_out() -> None:
    assert [(it.name, it.kind) for it in FIELDS] == [
        ("title", "text"), ("privacy", "choice"), ("tags", "list"), ("made_for_kids", "maybe"),
        ("notify_subscribers", "flag"), ("thumb_offset", "number"),
    ]  # fmt: skip
    assert (FIELDS[0].max_length, FIELDS[1].choices, FIELDS[3].input_id) == (
        100,
        ("private", "public"),
        "set-youtube_settings-made_for_kids",
    )


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ({}, {}),
        (
            {"title": "", "privacy": "public", "tags": "", "made_for_kids": "", "notify_subscribers": "yes"},
            {},
        ),
        ({"title": " Rye ", "privacy": "private"}, {"title": "Rye", "privacy": "private"}),
        ({"tags": "bread\r\n\r\n rye "}, {"tags": ["bread", "rye"]}),
        (
            {"made_for_kids": "no", "notify_subscribers": "no"},
            {"made_for_kids": False, "notify_subscribers": False},
        ),
        ({"thumb_offset": "1500"}, {"thumb_offset": 1500}),
        ({"thumb_offset": "soon"}, {"thumb_offset": "soon"}),
    ],
)
def test_what_differs_from_the_defaults_is_sent(typed: dict[str, str], sent: dict[str, Any]) -> None:
    assert settings.chosen(FIELDS, form(**typed)) == sent


def test_a_flag_is_the_last_of_its_two_fields() -> None:
    name = "set.youtube_settings.notify_subscribers"
    assert settings.chosen(FIELDS, MultiDict([(name, "no"), (name, "yes")])) == {}
    assert settings.raw(MultiDict([(name, "no"), (name, "yes"), ("message", "x")])).to_dict() == {name: "yes"}


def test_the_settings_of_a_post_come_back_as_they_were_typed() -> None:
    record = YouTubePostSettings(title="Rye", tags=["a", "b"], made_for_kids=False, privacy="private")
    assert settings.chosen(FIELDS, settings.raw_of("youtube_settings", record)) == {
        "title": "Rye", "privacy": "private", "tags": ["a", "b"], "made_for_kids": False,
    }  # fmt: skip
    assert settings.raw_of("x_settings", None) == {}


@pytest.mark.parametrize(
    ("field", "input_id"),
    [
        ("youtube_settings.tags[3]", "set-youtube_settings-tags"),
        ("linkedin_settings.article.source", "set-linkedin_settings-article"),
        ("message", "set-message-"),
        (None, "set--"),
    ],
)
def test_the_apis_name_of_a_setting_leads_to_its_input(field: str | None, input_id: str) -> None:
    assert settings.input_id(field) == input_id
