"""Compares what a platform says now with what Posthaste relies on, for the operator.

A check changes nothing that people see on the platform, unless the operator asks it to make a test post (`trial_post`).
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Literal
from urllib.parse import urlsplit

from msgspec.structs import replace

from chassis.vault import UnreadableSecret
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, ApiError, invalid
from contracts.platform_checks import CheckPlatform, PlatformCheck, PlatformReport
from contracts.platforms import PLATFORMS
from contracts.publishing import GetPage
from publishing.context import AppContext
from publishing.pages import health, trial_post
from publishing.pages.link_sessions import redirect_uri
from publishing.platforms.base import Account, CommentQuery, Connector
from publishing.platforms.facts import Fact, ask
from publishing.platforms.registry import PLUGINS
from publishing.records import Credentials, PageRow
from publishing.rules.filters import platform_code
from publishing.store.lists import Lists
from publishing.store.pages import Pages

_APP, _LOGIN, _HOOKS = "app", "redirect URI", "webhook address"
_REGISTER = "Register it in the settings of the app at the platform, exactly so."
_LATER = "Ask again later."
#: After this time no further question is asked: a process that is stopped waits 120 s for its calls, and one question
#: may take 40 s. Our choice.
_SECONDS = 60.0
#: Hosts for development: platforms send browsers to them, but cannot call them.
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def check(app: AppContext, caller: Caller, request: CheckPlatform) -> PlatformReport:
    """Asks the platform about our app there, and about a linked page if the request names one. Returns the report.

    Raises MISSING_SCOPE unless the caller is the operator, NOT_FOUND for an unknown page, and VALIDATION_ERROR for a
    page of another platform.
    """
    caller.check_operator()
    platform = platform_code(request.platform)
    checks = [*_of_the_app(app, platform)]
    if request.page_id is None:
        checks.append(_skipped("page", "its connection works", "no page was named", "Add --page ID."))
    else:
        page = _page(app, platform, request.page_id)
        checks += _without_tokens(app, page, [*_of_the_page(app, caller, page, request)])
    return PlatformReport(platform=platform, checks=tuple(checks))


def _page(app: AppContext, platform: str, page_id: str) -> PageRow:
    with app.database.reading() as connection:
        page = Pages(connection).get(page_id)
    if page is None or page.unlinked_at is not None:
        raise ApiError(NOT_FOUND, field="page_id")
    if page.platform != platform:
        raise invalid("page_id", f"the page is on {PLATFORMS[page.platform].title}")
    return page


def _of_the_app(app: AppContext, platform: str) -> Iterator[PlatformCheck]:
    row = PLATFORMS[platform]
    title = row.title
    if platform not in app.logins:
        yield PlatformCheck(
            check=_APP,
            state="failed",
            expected=f"an app at {title}",
            found="none",
            advice=f"Nobody can connect a page. Set the app's id and secret: docs/platforms/{_folder(platform)}.md.",
        )
        return
    kinds = ", ".join(kind for kind in row.account_types if app.logins[platform].of_app(kind))
    found = f"its id is set, for {kinds}" if kinds else "its id is set"
    yield PlatformCheck(check=_APP, state="ok", expected=f"an app at {title}", found=found)
    yield _address(_LOGIN, redirect_uri(app, platform))
    hooks = PLUGINS[platform].hooks
    if hooks is None:
        return
    if hooks.is_set_up(app.settings.platforms[platform]):
        yield _address(_HOOKS, f"{app.settings.public_url}/hooks/{PLATFORMS[platform].name}")
    else:
        yield _skipped(
            _HOOKS,
            "webhooks of comments",
            "not configured",
            f"Comments are polled instead. Webhooks: docs/platforms/{_folder(platform)}.md.",
        )


def _address(check: str, url: str) -> PlatformCheck:
    """Checks that an address of this installation is HTTPS, as platforms require. Only the platform knows if it is
    registered."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        return PlatformCheck(
            check=check,
            state="failed",
            expected="an https address",
            found=url,
            advice="Set PUBLIC_BASE_URL to an https address: platforms refuse others.",
        )
    return PlatformCheck(
        check=check, state="ok", expected="registered at the platform", found=url, advice=_REGISTER
    )


def _of_the_page(
    app: AppContext, caller: Caller, page: PageRow, request: CheckPlatform
) -> Iterator[PlatformCheck]:
    expected = f"{page.name} answers"
    try:
        found = health.check(app, replace(caller, account_id=page.account_id), GetPage(id=page.id))
    except ApiError as error:
        yield PlatformCheck(
            check="connection", state="unknown", expected=expected, found=error.message, advice=_LATER
        )
        return
    refusal = found.error.message if found.error else "expired" if found.expired else None
    if refusal is not None:
        yield PlatformCheck(
            check="connection",
            state="failed",
            expected=expected,
            found=refusal,
            advice="Connect the page again.",
        )
        return
    yield PlatformCheck(check="connection", state="ok", expected=expected, found="it does")
    yield _permissions(found.missing_permissions)
    if PLATFORMS[page.platform].comments and found.can_comment is False:
        advice = (
            f"First comments are refused for this page: docs/platforms/{_folder(page.platform)}.md says why."
        )
        yield _skipped("writing comments", "allowed", "not with the permissions of this page", advice)
    with app.database.reading() as connection:
        page = Pages(connection).get(page.id) or page  # its token may have been renewed
    connector, account = app.connection_to(page)
    yield from _asked(app, page, connector, account)
    if request.has_post:
        yield trial_post.check(app, page, connector, account, request)


def _without_tokens(
    app: AppContext, page: PageRow, checks: Sequence[PlatformCheck]
) -> Iterator[PlatformCheck]:
    """Hides the page's tokens in the results, because a platform may quote one in a refusal. If a check renews the
    token, hides both the old and the new one."""
    with app.database.reading() as connection:
        rows = (page, Pages(connection).get(page.id) or page)
    tokens: set[str | None] = set()
    for row in rows:
        with suppress(UnreadableSecret):
            credentials = Credentials.opened(app.vault, row.access_token)
            tokens |= {credentials.access_token, credentials.refresh_token}
    for one in checks:
        found = one.found
        for token in filter(None, tokens):
            found = found.replace(token, "…")
        yield replace(one, found=found)


def _asked(app: AppContext, page: PageRow, connector: Connector, account: Account) -> Iterator[PlatformCheck]:
    end = time.monotonic() + _SECONDS
    for fact in PLUGINS[page.platform].facts(app.settings.platforms[page.platform], account):
        yield _checked(fact)
        if time.monotonic() > end:
            yield PlatformCheck(
                check="further checks",
                state="unknown",
                expected="answers in time",
                found="none",
                advice=_LATER,
            )
            return
    yield from _reading(app, page, connector, account)


def _permissions(missing: tuple[str, ...] | None) -> PlatformCheck:
    check, expected = "permissions", "all that the login asks for"
    if missing is None:
        return _skipped(check, expected, "the platform does not tell", "")
    if not missing:
        return PlatformCheck(check=check, state="ok", expected=expected, found="all")
    return PlatformCheck(
        check=check,
        state="failed",
        expected=expected,
        found=f"missing: {', '.join(missing)}",
        advice="Connect the page again and allow everything; if it stays, ask the platform for the product.",
    )


def _reading(
    app: AppContext, page: PageRow, connector: Connector, account: Account
) -> Iterator[PlatformCheck]:
    """Checks whether comments and counts of the page's latest post can be read, where Posthaste supports these."""
    row = PLATFORMS[page.platform]
    with app.database.reading() as connection:
        posts = Lists(connection).published(
            page.account_id,
            brand_ids=None,
            page_id=page.id,
            platform=page.platform,
            since=None,
            before=None,
            limit=1,
        )
    remote_id = posts[0].remote_id if posts else None

    def comments() -> tuple[bool, str]:
        read = connector.list_comments(account, CommentQuery(str(remote_id), limit=1)).comments
        return True, "read" if read else "read, there are none"

    def counts() -> tuple[bool, str]:
        return True, f"{connector.engagement(account, str(remote_id)).likes} likes"

    for offered, check, question in (
        (row.comments, "comments of the latest post", comments),
        (row.engagement, "counts of the latest post", counts),
    ):
        if offered and remote_id is None:
            yield _skipped(
                check, "they can be read", "no post was published", "Publish a post and check again."
            )
        elif offered:
            yield _checked(ask(check, "they can be read", "See the permissions above.", question))


def _checked(fact: Fact) -> PlatformCheck:
    state: Literal["unknown", "ok", "failed"]
    state = "unknown" if fact.holds is None else "ok" if fact.holds else "failed"
    advice = "" if fact.holds else fact.advice if fact.holds is False else _LATER
    return PlatformCheck(
        check=fact.check, state=state, expected=fact.expected, found=fact.found, advice=advice
    )


def _skipped(check: str, expected: str, found: str, advice: str) -> PlatformCheck:
    return PlatformCheck(check=check, state="skipped", expected=expected, found=found, advice=advice)


def _folder(platform: str) -> str:
    return PLATFORMS[platform].folder
