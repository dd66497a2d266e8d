"""The form for a post: one post for several pages, checked while the person writes it, sent now or later."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from flask import Blueprint, render_template, request

from dashboard import api, times, words
from dashboard.drafts import Draft, Form
from dashboard.platforms import Platforms, recent_platforms
from dashboard.routes.media import Uploaded, store, upload_one
from dashboard.routes.shared import Places, recent_places
from dashboard.settings import chosen, input_id, raw_of
from posthaste.errors import (
    ApiError,
    AuthenticationError,
    InvalidRequest,
    LimitReached,
    MediaError,
    NoAnswer,
    ServerError,
)
from posthaste.records import Finding, FullPost, Media, Page, PageResult

screens = Blueprint("compose", __name__, url_prefix="/compose")

_LIBRARY = 24
#: Files that a post can begin with; the platforms take 35 at most.
_MOST_FILES = 35


@dataclass(frozen=True)
class Result:
    """The result of sending a post to one linked page."""

    page: Page | None
    page_id: str
    post_id: str = ""
    status: str = ""
    permalink: str | None = None
    at: datetime | None = None
    code: str = ""
    problem: str = ""

    @property
    def is_unknown(self) -> bool:
        """Whether the post may have been published in spite of the error, or may still be."""
        return self.code in words.UNSETTLED


@dataclass(frozen=True)
class UnreadFile:
    """A file of a draft that was not read from the library.

    Either it cannot be read now: the draft keeps it, but shows no picture. Or the draft is a copy of a post, and the
    post's own data tell enough about the file.
    """

    media_id: str
    filename: str = "A file that cannot be shown now"
    type: str = ""
    url: str = ""
    thumbnail_url: str | None = None


@screens.get("")
def show() -> str:
    """Shows the form for a post: empty, or with what the URL's query names. That is a post to copy (`copy`), else files
    of the library (`media_id`), else a linked page (`page`). A day in the query (`date`) is filled in as well.

    If the copied post was cancelled, its time is copied too, unless that time has passed.
    """
    client = api.reader()
    copied, chosen = request.args.get("copy"), request.args.getlist("media_id")
    find = recent_places(client, with_new_pages=not (copied or chosen))
    places, post = api.together(find, lambda: client.get_post(copied).post if copied else None)
    zone = next((brand.timezone for brand in places.brands.values()), "UTC")
    draft = Draft.empty(zone)
    if post is not None:
        zone = places.zone(post.brand_id)
        planned = post.scheduled_at if post.status == "cancelled" else None
        date, time, is_later = draft.date, draft.time, False
        if planned is not None and planned > datetime.now(UTC):
            (date, time), is_later = times.local_fields(planned, zone), True
        draft = Draft(
            page_ids=(post.page_id,), message=post.message or "", media_ids=tuple(post.media_ids),
            first_comment=post.first_comment or "", is_later=is_later, zone=zone, date=date, time=time,
            key=draft.key, settings=_settings_of(post),
        )  # fmt: skip
    elif chosen:
        draft = Draft(**(vars(draft) | {"media_ids": tuple(dict.fromkeys(chosen))[:_MOST_FILES]}))
    elif (page_id := request.args.get("page", "")) in places.pages:
        draft = Draft.empty(places.zone(places.pages[page_id].brand_id), (page_id,))
    draft = draft.on(request.args.get("date", ""))
    return _form(draft, places, files=None if post is None else _files_of(post))


@screens.post("")
def send() -> tuple[str, int] | str:
    """Uploads the chosen files and sends the post. If the API refuses it, shows the form as typed, with the reason."""
    draft = Draft.from_form(request.form)
    problem = draft.problem()
    places = recent_places(api.reader(), with_new_pages=bool(problem))()
    if not problem:
        draft, problem = _with_files(draft)
    if problem:
        return _form(draft, places, problem), 400
    if request.form.get("do") == "check":
        return _form(draft, places, findings=_findings(draft, places))
    left_out: list[Result] = []
    if request.form.get("do") == "ready":
        draft, left_out = _ready(draft, places)
        if not draft.page_ids:
            return _form(Draft.from_form(request.form), places, findings=_findings(draft, places)), 422
    try:
        results = _sent(draft, places)
    except NoAnswer:
        unknown = "No answer came, so it may have gone out. Send it again: each page gets it only once."
        return _form(draft, places, unknown), 503
    except AuthenticationError:
        raise
    except ApiError as error:
        reason = words.said(error)
        # A part of the server that is away may have had some of the pages. Under the same key, nothing goes out twice.
        if error.code in words.UNSETTLED or isinstance(error, ServerError):
            again = "Send it again in a moment: each page gets it only once."
            return _form(draft, places, f"{reason} {again}"), error.status
        findings = None if isinstance(error, LimitReached) else _findings(draft, places)
        return _form(draft, places, _refused(draft, findings, reason), findings), error.status
    only = results[0] if len(results) == 1 and not left_out else None
    if only and only.code and not only.is_unknown:  # nothing happened: the form says why
        findings = _findings(draft, places)
        return _form(draft, places, _refused(draft, findings, only.problem), findings), 422
    return render_template("sent.html", results=[*results, *left_out], draft=draft, places=places)


def _refused(draft: Draft, findings: dict[str, list[Finding]] | None, reason: str) -> str:
    """Returns the text above the form of a post that was refused. It contains `reason`. If the check has found errors,
    which are shown beside the fields, it refers to these instead.
    """
    if any(it.code for found in (findings or {}).values() for it in found):
        reason = "Fix what is marked below."
    return f"Nothing was {'scheduled' if draft.is_later else 'published'}. {reason}"


@screens.post("/edit")
def edit() -> str:
    """Shows the submitted content in the form again, under a new idempotency key.

    The screen of results submits a post here, with the linked pages on which it failed.
    """
    draft = Draft.from_form(request.form)
    again = Draft.empty(draft.zone or "UTC")
    draft = Draft(**(vars(draft) | {"key": again.key}))
    return _form(draft, recent_places(api.reader(), with_new_pages=True)())


@screens.post("/check")
def check() -> str:
    """Shows a part of the form: what the API's check found for each chosen page, and previews of the post."""
    draft = Draft.from_form(request.form)
    problem = draft.problem()
    # Without pages, as long as none is chosen, no name is shown and no call is made: people type for minutes.
    places = recent_places(api.reader(), with_new_pages=bool(problem and draft.page_ids))()
    findings = {} if problem else _findings(draft, places)
    return render_template(
        "compose_checked.html", draft=draft, places=places, missing=problem, findings=findings,
        beside=_beside(draft, findings, places),
    )  # fmt: skip


@screens.get("/library")
def library() -> str:
    """Shows the part of the form that offers files which were uploaded earlier, newest first."""
    chosen, cursor = set(request.args.getlist("media_id")), request.args.get("after") or None
    found = api.reader().list_media(limit=_LIBRARY, cursor=cursor)
    return render_template(
        "compose_library.html", files=[it for it in found.media if it.media_id not in chosen],
        after=found.next_cursor, is_first=cursor is None,
    )  # fmt: skip


@screens.get("/files")
def files() -> str:
    """Shows the tiles of the files whose ids are in the request. The browser has kept these ids with a draft."""
    chosen = tuple(dict.fromkeys(request.args.getlist("media_id")))[:_MOST_FILES]
    return "".join(render_template("compose_file.html", file=it) for it in _files(chosen))


@screens.post("/files")
def upload() -> Uploaded:
    return upload_one("compose_file.html")


def _settings_of(post: FullPost) -> Form:
    """Returns the platform settings of an existing post as fields of the form."""
    found: Form = Form()
    for platform in recent_platforms(api.reader())().values():
        found.update(raw_of(platform.settings_field, getattr(post, platform.settings_field, None)))
    return found


def _form(
    draft: Draft,
    places: Places,
    problem: str = "",
    findings: dict[str, list[Finding]] | None = None,
    files: list[Media | UnreadFile] | None = None,
) -> str:
    if files is None:
        files = _files(draft.media_ids)
    return render_template(
        "compose.html", draft=draft, places=places, problem=problem, findings=findings, files=files,
        beside=_beside(draft, findings or {}, places), platforms=_used_platforms(places),
    )  # fmt: skip


def _used_platforms(places: Places) -> Platforms:
    """Returns the platforms of the linked pages, in the order of the screens."""
    platforms = recent_platforms(api.reader())()
    used = {page.platform for page in places.pages.values()}
    return {code: platforms[code] for code in words.PLATFORMS if code in used}


def _files(media_ids: tuple[str, ...]) -> list[Media | UnreadFile]:
    """Returns the files with these ids, as far as they still exist. Files that cannot be read now are `UnreadFile`."""
    if not media_ids:
        return []
    try:
        listed = {it.media_id: it for it in api.reader().list_media(media_ids=",".join(media_ids)).media}
    except AuthenticationError:
        raise
    except (LimitReached, ServerError):
        return [UnreadFile(it) for it in media_ids]
    except ApiError:
        return []
    return [listed[it] for it in media_ids if it in listed]


def _files_of(post: FullPost) -> list[Media | UnreadFile]:
    """Returns the files of a copied post as the post itself shows them, which saves a call.

    They may include a file that was deleted since. The check of the form says so.
    """
    if len(post.media) < len(post.media_ids):
        return _files(tuple(post.media_ids))
    shown = zip(post.media_ids, post.media, strict=False)  # other media of the post come after its files
    return [
        UnreadFile(
            media_id, unquote(PurePosixPath(urlsplit(it.src).path).name), it.type, it.src, it.thumbnail_url
        )
        for media_id, it in shown
    ]


def _with_files(draft: Draft) -> tuple[Draft, str]:
    """Uploads the files of a form that was sent without JavaScript.

    Returns the draft with these files, and the reasons of all refusals as one text.
    """
    media_ids, problems = list(draft.media_ids), []
    for file in request.files.getlist("files"):
        if not file.filename:
            continue
        try:
            media_ids.append(store(file).media_id)
        except (MediaError, InvalidRequest) as error:
            problems.append(f"{file.filename}: " + words.said(error))
    return Draft(**(vars(draft) | {"media_ids": tuple(media_ids)})), " ".join(problems)


def _findings(draft: Draft, places: Places) -> dict[str, list[Finding]]:
    """Asks the API to validate the post. Returns the findings for each linked page, errors first."""
    page_ids = list(draft.page_ids)
    content = _content(draft, places)
    try:
        validated = api.reader().validate_posts(page_ids=page_ids, scheduled_at=draft.at(), **content)
    except (AuthenticationError, LimitReached, ServerError):
        raise
    except ApiError as error:  # it is about the whole call, such as a malformed setting
        problems = [
            Finding(code=error.code, message=it.message, field=it.field) for it in words.fields_of(error)
        ]
        return dict.fromkeys(page_ids, problems)
    return {
        it.page_id: [
            *it.errors,
            *(Finding(code="", message=one.message, field=one.field) for one in it.warnings),
        ]
        for it in validated.results
    }


@screens.app_template_global()
def ready_of(findings: dict[str, list[Finding]] | None) -> list[str]:
    """Returns the ids of the pages that can take the post: those for which the check found no error."""
    return [page_id for page_id, found in (findings or {}).items() if not any(it.code for it in found)]


@screens.app_template_global()
def only_platform(findings: dict[str, list[Finding]], ready: list[str], places: Places) -> str:
    """Returns a text such as `Facebook only` if just one of the chosen pages can take the post, and no other chosen
    page is on the same platform. Otherwise returns an empty text."""
    platforms = [places.pages[it].platform for it in findings if it in places.pages]
    on = places.pages.get(ready[0]) if len(ready) == 1 else None
    return f"{words.PLATFORMS[on.platform]} only" if on and platforms.count(on.platform) == 1 else ""


def _ready(draft: Draft, places: Places) -> tuple[Draft, list[Result]]:
    """Leaves out the pages that cannot take the post.

    Returns the draft for the remaining pages, and for each page that was left out the reason.
    """
    findings = _findings(draft, places)
    ready = ready_of(findings)
    reasons = {
        page_id: next(it for it in found if it.code)
        for page_id, found in findings.items()
        if page_id not in ready
    }
    left_out = [
        Result(places.pages.get(page_id), page_id, code=it.code, problem=words.plainly(it.field, it.message))
        for page_id, it in reasons.items()
    ]
    return replace(draft, page_ids=tuple(ready)), left_out


def _beside(
    draft: Draft, findings: dict[str, list[Finding]], places: Places
) -> dict[str, list[tuple[Page | None, Finding]]]:
    """Returns field of the form → the findings to show beside it, each with its linked page. Platform settings and a
    page's own text are fields, too. Leaves out findings that belong to no field.
    """
    own = {page_id: f"own-{page_id}" for page_id in (*draft.page_ids, *draft.own_texts)}
    inputs = [it.input_id for rules in _used_platforms(places).values() for it in rules.settings]
    found: dict[str, list[tuple[Page | None, Finding]]] = {
        it: [] for it in (*words.FIELDS, *own.values(), *inputs)
    }
    for page_id, ones in findings.items():
        for one in ones:
            of, setting = words.beside(one.field), input_id(one.field)
            if setting in found:
                of = setting
            elif of == "message" and page_id in draft.own_texts:
                of = own[page_id]
            if of:
                found[of].append((places.pages.get(page_id), one))
    return found


def _content(draft: Draft, places: Places) -> dict[str, Any]:
    """Returns the draft as parameters of the calls that validate and send a post, without settings that are default."""
    platforms = recent_platforms(api.reader())()
    codes = {places.pages[it].platform for it in draft.page_ids if it in places.pages}
    settings = {
        platforms[code].settings_field: chosen(platforms[code].settings, draft.settings) for code in codes
    }
    return {
        "message": draft.message or None, "overrides": draft.overrides(), "media_ids": list(draft.media_ids),
        "first_comment": draft.first_comment or None,
    } | {field: values for field, values in settings.items() if values}  # fmt: skip


def _sent(draft: Draft, places: Places) -> list[Result]:
    """Sends the post to all its pages in one call, and returns the result for each page.

    If the API refuses the whole call, raises its error.
    """
    client, at, page_ids = api.patient(), draft.at(), list(draft.page_ids)
    content = {"page_ids": page_ids, "idempotency_key": draft.key} | _content(draft, places)
    if at is None:
        results = client.publish_posts(**content).results
    else:
        results = client.schedule_posts(scheduled_at=at, **content).results
    return [_result(places, it) for it in results]


def _result(places: Places, one: PageResult) -> Result:
    page = places.pages.get(one.page_id)
    if one.error is not None:
        code = str(one.error.get("code", ""))
        problem = words.plainly(str(one.error.get("field", "")), str(one.error.get("error", "")))
        post_id = str(one.error.get("post_id") or "")
        return Result(page, one.page_id, post_id=post_id, code=code, problem=problem)
    if one.scheduled_post is not None:
        post = one.scheduled_post
        return Result(page, one.page_id, post_id=post.id, status=post.status, at=post.scheduled_at)
    assert one.post is not None
    sent = one.post
    return Result(
        page,
        one.page_id,
        post_id=sent.post_id,
        status=sent.status,
        permalink=sent.permalink,
        at=sent.published_at,
    )
