"""Creates the Flask application: its screens, its security headers, the check that forms come from our own screens, and
a header that tells how long the page and the API took.
"""

import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, g, request, url_for
from markupsafe import Markup
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import HTTP_STATUS_CODES
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.wrappers import Response as AnyResponse

from dashboard import api, assets, cookies, dates, problems, words
from dashboard.bodies import BodyReader, is_large
from dashboard.config import Config
from dashboard.kept import kept
from dashboard.routes import BLUEPRINTS, NAVIGATION
from dashboard.routes.calendar import Entry
from dashboard.routes.shared import shut_out
from posthaste.errors import AuthenticationError, PosthasteError

#: What a signed-out browser may open.
_OPEN = {"static", "healthz", *(f"sign_in.{it}" for it in ("show", "enter", "forgot", "ask_for_link"))}
_OPEN |= {"invitations.show", "invitations.accept"}
_OPEN |= {
    f"sign_up.{it}"
    for it in ("show", "create", "confirm", "verify", "choose", "reset", "confirm_email", "use_email")
}

#: Addresses that are remembered, because Flask takes 20 µs for one and each page has dozens. They depend on nothing but
#: the arguments. About 1 MB.
_ADDRESSES = 4_096

#: How long a session that was valid may send files before the API is asked again.
_SESSION_SECONDS = 60.0

#: When a form that found no free place is worth sending again, in seconds.
_BUSY_SECONDS = 5


def create_app(config: Config) -> Flask:
    """Creates the dashboard's Flask application, once per process."""
    app = Flask(__name__)
    app.config.update(MAX_CONTENT_LENGTH=config.max_body_bytes, MAX_FORM_MEMORY_SIZE=2**20)
    app.config.update(DASHBOARD=config)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    if config.trusted_proxy_hops:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=config.trusted_proxy_hops, x_proto=1)  # type: ignore[method-assign]
    api.attach(app, config)
    assets.attach(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    app.add_url_rule("/healthz", "healthz", lambda: ("ok", 200))
    _add_words(app, config)
    _add_slots(app)
    dates.attach(app)
    _guard(app, config)
    problems.attach(app, config)
    return app


def _add_words(app: Flask, config: Config) -> None:
    app.jinja_env.filters.update(
        size=words.size,
        files=words.files,
        cut=words.cut,
        length_of=words.length_of,
        initials=words.initials,
        breakable=words.breakable,
    )
    app.jinja_env.globals.update(
        PLATFORMS=words.PLATFORMS, STATUSES=words.STATUSES, HOLDS=words.HOLDS, outcome=words.outcome,
        advice=words.advice, ABOUT_THE_PAGE=words.ABOUT_THE_PAGE, LEDGER=words.LEDGER, ACTORS=words.ACTORS,
        audited=words.audited, cause=words.cause, REFILL_STATES=words.REFILL_STATES, RIGHTS=words.RIGHTS,
        ATTEMPT_ERRORS=words.ATTEMPT_ERRORS,
        DELIVERY_STATES=words.DELIVERY_STATES, is_passing=words.is_passing,
        is_about_access=words.is_about_access, shut_out=shut_out, new_key=partial(secrets.token_hex, 16),
        url_for=lru_cache(_ADDRESSES)(url_for), attached=words.attached,
        count=words.count, took=words.took, field_name=words.field_name, label_of=words.label_of,
        CAROUSELS=words.CAROUSELS, plainly=words.plainly, min=min, HTTP_STATUSES=HTTP_STATUS_CODES,
        api_public_url=config.api_public_url, reason=words.said, COUNTED=words.COUNTED, browser_name=words.browser_name,
        legal=[it for it in (("Terms", config.terms_url), ("Privacy", config.privacy_url)) if it[1]],
    )  # fmt: skip

    @app.context_processor
    def of_request() -> dict[str, Any]:
        token = cookies.form_token(g.form_key, g.session_token)
        return {
            "form_token": token, "is_signed_in": bool(g.session_token), "now": datetime.now(UTC),
            "shared_work": g.shared_work, "may": lambda scope: g.shared_work is None or g.shared_work.may(scope),
            "navigation": _navigation(),
        }  # fmt: skip


def _add_slots(app: Flask) -> None:
    """Adds to the templates `slots`, which returns the HTML of a day's posts in the calendar.

    It does not escape. A month has 300 posts of 18 values, and to escape each of them would take half of the page's
    time: `Entry.of` has escaped what people wrote.
    """
    unescaped = app.jinja_env.overlay(autoescape=False)

    def slots(entries: Sequence[Entry], attributes: str) -> Markup:
        template = unescaped.get_template("calendar_slots.html")
        return Markup(template.render(entries=entries, attributes=attributes))

    app.jinja_env.globals["slots"] = slots


def _navigation() -> list[list[tuple[str, str]]]:
    """Returns the screens that the person may open, in groups: (Flask endpoint, title) of each."""
    work = g.shared_work
    return [
        [
            (endpoint, text)
            for endpoint, text, scope in group
            if work is None or scope is None or work.may(scope)
        ]
        for group in NAVIGATION
    ]


def _check_session() -> None:
    """Asks the API, at most once a minute, whether the session is valid. Raises AuthenticationError if it is not.

    Called before a large form is read. If the API cannot tell, for example during an outage, nothing is raised: the
    form is read all the same, so that what the person typed is kept.
    """
    try:
        kept("session", _SESSION_SECONDS, api.reader().get_me)()
    except AuthenticationError:
        raise
    except PosthasteError:
        return


def _read_form(forms: BodyReader) -> AnyResponse | None:
    """Reads the body of the current request. Returns None if the request may go on. Returns an answer that refuses it
    if too many bodies are being read, or if the form was not sent from one of our own screens.

    Does not read a large body if the screen needs no sign-in (raises RequestEntityTooLarge), or if the session has
    ended (raises AuthenticationError).
    """
    if is_large(request):
        if request.endpoint in _OPEN:
            raise RequestEntityTooLarge
        _check_session()
    if not forms.read(request):
        busy = problems.page("busy", 503)
        busy.headers["Retry-After"] = str(_BUSY_SECONDS)
        return busy
    g.is_unread = False
    is_ours = cookies.is_from_our_page(request, g.form_key, g.session_token)
    return None if is_ours else problems.page("stale", 403)


def _guard(app: Flask, config: Config) -> None:
    media = urlsplit(config.media_public_url)
    files = f"'self' {media.scheme}://{media.netloc}"
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {files}; media-src {files}; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )

    forms = BodyReader(config.threads)

    @app.before_request
    def before() -> AnyResponse | None:
        g.begun_at, g.api_calls = time.perf_counter(), []
        cookies.load(config.is_https)
        g.is_unread = request.method not in ("GET", "HEAD", "OPTIONS")
        if request.endpoint is None:
            return None
        if request.endpoint not in _OPEN and not g.session_token:
            return problems.to_another_page(url_for("sign_in.show", next=problems.place()))
        return _read_form(forms) if g.is_unread else None

    @app.after_request
    def after(response: Response) -> Response:
        headers = response.headers
        if g.is_unread:  # what is left of the body is no request
            headers["Connection"] = "close"
        headers["Content-Security-Policy"] = policy
        headers["X-Content-Type-Options"] = "nosniff"
        headers["X-Frame-Options"] = "DENY"
        # Nothing leaves this host. With no-referrer, browsers would hide the origin of our own forms too.
        headers["Referrer-Policy"] = "same-origin"
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        headers["Cross-Origin-Resource-Policy"] = "same-origin"
        headers["Permissions-Policy"] = "camera=(), geolocation=(), microphone=()"
        if config.is_https:
            headers["Strict-Transport-Security"] = "max-age=31536000"
        if request.endpoint != "static":
            headers["Cache-Control"] = "no-store"
            seconds, asked = time.perf_counter() - g.begun_at, api.seconds_of(g.api_calls)
            headers["Server-Timing"] = (
                f'page;dur={1000 * (seconds - asked):.1f}, api;dur={1000 * asked:.1f};desc="{len(g.api_calls)} calls"'
            )
            if g.get("has_new_form_key"):
                cookies.set_cookie(response, "form", g.form_key, config.is_https)
            if g.get("has_new_dates"):
                cookies.set_cookie(response, "dates", g.dates.packed(), config.is_https)
            if g.get("has_new_person"):
                cookies.set_cookie(response, "person", g.person, config.is_https)
        return response
