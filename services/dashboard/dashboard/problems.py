"""Shows errors as web pages: each says what is the matter, tries again by itself if that helps, and keeps what was
typed."""

from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, current_app, g, make_response, redirect, render_template, request, url_for
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from dashboard import cookies
from dashboard.config import Config
from posthaste.errors import (
    ApiError,
    AuthenticationError,
    LimitReached,
    NoAnswer,
    PermissionDenied,
    PosthasteError,
    ServerError,
)

#: How soon a page loads again while a part of the server is away: a process that was killed is back in about so long.
_AGAIN_SECONDS = 5
#: A limit that ends sooner than that is worth waiting for in front of the page.
_WORTH_WAITING_SECONDS = 120
#: Kinds after which the same form may be sent again. Its key makes sure that it takes effect once. A form without our
#: token ("stale") is not among them: another site may have filled it.
_PASSING = ("down", "limit", "unknown")
#: Forms that htmx sends to read something.
_READING = ("compose.check",)
#: Fields that the form gets anew, or that no page may show.
_NOT_KEPT = ("form_token", "password", "current_password", "new_password", "code")


def page(kind: str, status: int, *, error: ApiError | None = None) -> Response:
    """Returns the answer that shows a problem of this kind: a whole web page, or only a fragment if htmx made the
    request.

    If the request only reads and may soon succeed, the page repeats it by itself. If the request was a form that failed
    for a passing reason, the page shows what was typed.
    """
    seconds = _seconds(kind, error)
    is_read = request.method in ("GET", "HEAD") or request.endpoint in _READING
    if is_read and request.headers.get("HX-Request-Type") == "full":
        # htmx would take a part of the answer that an error does not have: the browser loads the page as a whole.
        return Response(status=204, headers={"HX-Redirect": request.full_path})
    is_part = "HX-Request" in request.headers
    made = make_response(
        render_template(
            "error_part.html" if is_part else "error.html",
            kind=kind, status=status, error=error, seconds=seconds if is_read else 0, again=request.full_path,
            seen=None if is_part or kind != "stale" else place(),
            typed=MultiDict() if is_read or kind not in _PASSING else _typed(),
        ),
        status,
    )  # fmt: skip
    if seconds and is_read and not is_part:
        made.headers["Refresh"] = str(seconds)
    return made


def attach(app: Flask, config: Config) -> None:
    """Registers the application's error handlers. Each kind of error is answered with a page that explains it. Only the
    end of a session is answered with a redirect, mostly to the sign-in.
    """

    @app.errorhandler(AuthenticationError)
    def signed_out(error: AuthenticationError) -> AnyResponse:
        """Answers a call whose session has ended: it was ended in another browser, or was not used for 30 days.

        After signing in the person goes on where they were. It may be that only the session on somebody else's brand
        has ended, for example because the person was removed from the brand. Then they go on in their own account.
        """
        target = (
            url_for("brands.index", ended=1)
            if g.shared_work
            else url_for("sign_in.show", ended=1, next=place())
        )
        response = to_another_page(target)
        if g.shared_work:
            cookies.set_cookie(response, "brand", "", config.is_https)
        else:
            cookies.sign_out(response, config.is_https)
        return response

    @app.errorhandler(ApiError)
    def refused(error: ApiError) -> Response:
        kind = "refused"
        if error.status == 404:
            kind = "missing"
        elif isinstance(error, PermissionDenied):
            kind = "forbidden"
        elif isinstance(error, LimitReached):
            kind = "limit"
        elif isinstance(error, ServerError):
            kind = "down"
        return page(kind, error.status, error=error)

    @app.errorhandler(PosthasteError)
    def unanswered(error: PosthasteError) -> Response:
        app.logger.warning("the API did not answer: %s", error)
        may_have_changed = (
            isinstance(error, NoAnswer) and error.idempotency_key and request.endpoint not in _READING
        )
        return page("unknown" if may_have_changed else "down", 503)

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> Response:
        status = error.code or 500
        return page({404: "missing", 405: "missing", 413: "large"}.get(status, "broken"), status)

    @app.errorhandler(ValueError)
    def malformed(error: ValueError) -> Response:
        """Answers 404 to a request whose address has a value that cannot be an id, such as an empty text."""
        app.logger.warning("malformed request: %s", type(error).__name__, exc_info=True)
        return page("missing", 404)


def to_another_page(target: str) -> AnyResponse:
    """Returns the answer that makes the browser open `target`, because the session is missing or has ended. It has this
    effect for requests of htmx too.

    A script that uploads files gets the reason as text instead, so that the page with the draft stays open.
    """
    if "HX-Request" in request.headers:
        return Response(status=204, headers={"HX-Redirect": target})
    if "X-Form-Token" in request.headers:
        return Response("You were signed out. Load the page again.", 401, mimetype="text/plain")
    return redirect(target, 302 if request.method in ("GET", "HEAD") else 303)


def place() -> str | None:
    """Returns path and query of the screen that the person sees now, so that they can come back to it after signing in.
    Returns None if the screen is not known.
    """
    if request.method == "GET" and "HX-Request" not in request.headers:
        return request.full_path.rstrip("?")
    seen = urlsplit(request.headers.get("HX-Current-URL") or request.referrer or "")
    if seen.netloc != request.host:
        return None
    found = _screen(seen.path)
    return f"{found}?{seen.query}".rstrip("?") if found == seen.path else found


def _screen(path: str) -> str:
    """Returns the path of a screen: `path`, or the nearest one above it that can be opened.

    A form that was refused is shown again at the address that it was sent to, which may have no screen:
    `/posts/pst_1/edit` leads to `/posts/pst_1`.
    """
    screens = current_app.url_map.bind(request.host)
    while path != "/":
        try:
            screens.match(path, "GET")
        except HTTPException:
            path = path.rpartition("/")[0] or "/"
        else:
            return path
    return path


def _seconds(kind: str, error: ApiError | None) -> int:
    """Returns after how many seconds the page should try again by itself; 0: not at all."""
    if kind == "down":
        return _AGAIN_SECONDS
    wait = error.retry_after_seconds if kind == "limit" and error is not None else None
    return int(wait) + 1 if wait is not None and wait <= _WORTH_WAITING_SECONDS else 0


def _typed() -> MultiDict[str, Any]:
    """Returns the fields of the submitted form, without secrets, so that the page can show them again."""
    return MultiDict([it for it in request.form.items(multi=True) if it[0] not in _NOT_KEPT])
