"""The screens for developers: tokens, webhooks with their deliveries, and the log of requests. New secrets are shown
once; the sandbox token is shown whenever its owner asks for it.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from flask import Blueprint, abort, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, words
from dashboard.kept import forget
from dashboard.routes.shared import Places, recent_brands, recent_pages
from posthaste import Posthaste
from posthaste.errors import ApiError, AuthenticationError
from posthaste.records import Delivery, Subscription

screens = Blueprint("developers", __name__, url_prefix="/developers")

#: What a form may answer: a page, a page with a status, or another page to go to.
Answer = str | tuple[str, int] | Response
_ON_A_PAGE, _WEBHOOKS, _REQUESTS = 25, 10, 50
#: The newest tokens, from which the log's filter chooses. Requests of older ones are shown with the token's id.
_TOKENS = 100
_STATES = ("delivered", "failed", "pending", "skipped")
#: Why the API does not have the sandbox token, and what to do.
_CANNOT_SHOW = (
    "The sandbox token cannot be shown: it was revoked, or your operator has changed the server’s secret since."
    " Create a token instead. With scopes that only read, it publishes nothing either."
)
#: With which the id of a session begins. The log has it where a request of a program has the id of its token.
_SESSION = "ses_"


@screens.get("")
def show() -> str:
    return _shown()


@screens.post("/tokens")
def create_token() -> Answer:
    """Creates an API token and shows its value, which is shown only this once."""
    days = request.form.get("days", "")
    ends = datetime.now(UTC) + timedelta(days=int(days)) if days and days in words.EXPIRIES else None

    def make(_client: Posthaste) -> Answer:
        # A collaborator's tokens are theirs, also those that are bound to a brand of somebody else.
        made = api.own().create_token(
            name=request.form.get("name", "").strip(),
            scopes=request.form.getlist("scope"),
            brand_ids=[g.shared_work.brand_id] if g.shared_work else request.form.getlist("brand_id"),
            ip_allowlist=request.form.get("addresses", "").replace(",", " ").split(),
            expires_at=ends,
            idempotency_key=_key(),
        )
        return render_template("secret.html", kind="token", name=made.token.name, secret=made.api_token)

    return _done(make)


@screens.post("/sandbox-token")
def show_sandbox_token() -> Answer:
    """Shows the value of the sandbox token. Only a form can ask for it, so that opening an address never shows the
    token."""
    try:
        secret = api.own().get_sandbox_token().sandbox_api_token
    except ApiError as error:
        if error.status != 404:
            raise
        return _shown(_CANNOT_SHOW), 404
    return render_template("secret.html", kind="sandbox", name="", secret=secret)


@screens.post("/tokens/<token_id>/<action>")
def change_token(token_id: str, action: str) -> Answer:
    """Revokes an API token, or replaces it by a new one with the same rights, whose value is shown only this once."""

    def change(_client: Posthaste) -> Answer:
        client = api.own()
        if action == "rotate":
            made = client.rotate_token(token_id, idempotency_key=_key())
            return render_template("secret.html", kind="token", name=made.token.name, secret=made.api_token)
        client.revoke_token(token_id, idempotency_key=_key())
        return redirect(url_for("developers.show", done="revoked"))

    if action not in ("rotate", "revoke"):
        abort(404)
    return _done(change)


@screens.post("/webhooks")
def create_webhook() -> Answer:
    """Creates a webhook subscription and shows its signing secret. The secret is shown only this once."""

    def make(client: Posthaste) -> Answer:
        made = client.create_webhook(**_fields(), idempotency_key=_key())
        return render_template("secret.html", kind="webhook", name=made.name, secret=made.secret)

    return _done(make)


@screens.get("/webhooks/<webhook_id>")
def webhook(webhook_id: str) -> str:
    return _webhook(webhook_id)


@screens.post("/webhooks/<webhook_id>/<action>")
def change_webhook(webhook_id: str, action: str) -> Answer:
    """Does `action` to a subscription: changes it, sends a test event to it, enables it, gives it a new secret, or
    deletes it."""

    def change(client: Posthaste) -> Answer:
        if action == "rotate":
            made = client.rotate_webhook_secret(webhook_id, idempotency_key=_key())
            return render_template(
                "secret.html", kind="webhook", name="", secret=made.secret, webhook_id=webhook_id
            )
        if action == "delete":
            client.delete_webhook(webhook_id, idempotency_key=_key())
            return redirect(url_for("developers.show", done="deleted"))
        if action == "edit":
            client.edit_webhook(webhook_id, **_fields(), idempotency_key=_key())
            return redirect(url_for("developers.webhook", webhook_id=webhook_id, done="changed"))
        if action == "test":
            client.send_test_event(webhook_id, idempotency_key=_key())
        else:
            client.enable_webhook(webhook_id, idempotency_key=_key())
        return redirect(url_for("developers.webhook", webhook_id=webhook_id, done=action))

    if action not in ("edit", "rotate", "delete", "test", "enable"):
        abort(404)
    return _done(change, lambda problem: _webhook(webhook_id, problem))


@screens.get("/webhooks/<webhook_id>/deliveries/<delivery_id>")
def delivery(webhook_id: str, delivery_id: str) -> str:
    client = api.reader()
    hook, found = api.together(
        lambda: client.get_webhook(webhook_id), lambda: client.get_delivery(webhook_id, delivery_id)
    )
    return render_template("delivery.html", delivery=found, hook=hook, body=indented(found.body))


def indented(body: str) -> str:
    """Returns JSON with each member on a line of its own. A text that is not JSON is returned unchanged."""
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return body


@screens.post("/webhooks/<webhook_id>/deliveries/<delivery_id>/replay")
def replay(webhook_id: str, delivery_id: str) -> Answer:
    """Sends a webhook delivery again."""

    def send(client: Posthaste) -> Answer:
        client.replay_delivery(webhook_id, delivery_id, idempotency_key=_key())
        return redirect(url_for("developers.webhook", webhook_id=webhook_id, done="replay"))

    return _done(send, lambda problem: _webhook(webhook_id, problem))


@screens.get("/requests")
def requests() -> str:
    """Shows the log of requests, with its filters. Without a filter it shows only requests with API tokens, because
    people's use of the dashboard would hide them.
    """
    client, asked = api.reader(), request.args
    is_errors, with_people = asked.get("errors") == "yes", asked.get("people") == "yes"
    filters: dict[str, Any] = {
        name: asked.get(name, "").strip() or None for name in ("token_id", "request_id", "operation")
    }
    found, tokens = api.together(
        lambda: client.list_logs(
            **filters,
            errors_only=is_errors or None,
            tokens_only=None if with_people or filters["token_id"] or filters["request_id"] else True,
            limit=_REQUESTS,
            cursor=asked.get("after") or None,
        ),
        lambda: client.list_tokens(limit=_TOKENS).tokens,
    )
    names = {it.id: it.name or it.prefix for it in tokens}
    if (chosen := filters["token_id"]) is not None:
        names.setdefault(chosen, chosen)
    return render_template(
        "requests.html", entries=found.entries, after=found.next_cursor, names=names, is_errors=is_errors,
        filters=filters, with_people=with_people, is_first="after" not in asked,
    )  # fmt: skip


@screens.get("/requests/<request_id>")
def one_request(request_id: str) -> str:
    """Shows a request with its token. Also shows the posts, attempts and deliveries that resulted from the request, so
    that a person can find out why a post failed.
    """
    client = api.reader()
    found, pages = api.together(lambda: client.get_log(request_id), recent_pages(client))
    return render_template(
        "request.html", found=found, request_id=request_id, places=Places(pages, {}),
        token_name=_token_name(client, found.entries[0].token_id) if found.entries else "",
    )  # fmt: skip


def _token_name(client: Posthaste, token_id: str) -> str:
    """Returns the name of the token with which a request was made: "Dashboard" for the session of a browser. A token
    without a name has its prefix, and a token that the API does not find has its id.
    """
    if token_id.startswith(_SESSION):
        return "Dashboard"
    try:
        token = client.get_token(token_id)
    except AuthenticationError:
        raise
    except ApiError as error:
        if error.status != 404:
            raise
        return token_id
    return token.name or token.prefix


def _fields() -> dict[str, Any]:
    """Returns the submitted fields of the form for a webhook, as parameters of the API."""
    form = request.form
    return {
        "name": form.get("name", "").strip(),
        "url": form.get("url", "").strip(),
        "events": form.getlist("event"),
        "immediate_posts": "immediate_posts" in form,
    }


def _key() -> str | None:
    return request.form.get("key") or None


def _done(change: Callable[[Posthaste], Answer], again: Callable[[str], str] | None = None) -> Answer:
    """Calls `change`, which makes a change, and returns its answer.

    If the API refuses the change, `again` renders the screen with the reason and the form as it was typed. Without
    `again`, the screen for developers is shown with the reason.
    """
    forget("webhooks")
    try:
        return change(api.reader())
    except AuthenticationError:
        raise
    except ApiError as error:
        if error.status == 404 or error.status >= 500:
            raise
        return (again or _shown)(words.said(error)), error.status


def _shown(problem: str = "") -> str:
    client = api.reader()
    own, work, asked = api.own(), g.shared_work, request.args
    tokens, hooks, brands = api.together(
        lambda: own.list_tokens(limit=_ON_A_PAGE, cursor=asked.get("after") or None),
        lambda: client.list_webhooks(limit=_WEBHOOKS, cursor=asked.get("hooks_after") or None),
        recent_brands(client),
    )
    return render_template(
        "developers.html", hooks=hooks.webhooks, hooks_after=hooks.next_cursor,
        brands=list(brands.values()), problem=problem,
        tokens=sorted(
            (it for it in tokens.tokens if work is None or it.on_behalf_of_brand_id == work.brand_id),
            key=lambda it: it.revoked_at is not None,
        ),
        after=tokens.next_cursor, is_first="after" not in asked, is_first_hook="hooks_after" not in asked,
        names={it.id: it.name for it in brands.values()},
        scopes={scope: text for scope, text in words.SCOPES.items() if work is None or work.may(scope)},
        events=words.EVENTS, expiries=words.EXPIRIES, done=request.args.get("done", ""), form=request.form,
    )  # fmt: skip


def _webhook(webhook_id: str, problem: str = "") -> str:
    client, state, cursor = api.reader(), request.args.get("state", ""), request.args.get("after") or None
    if state not in ("", *_STATES):
        abort(404)

    def listed() -> tuple[list[Delivery], str | None]:
        found = client.list_deliveries(
            webhook_id, status=cast(Any, state or None), limit=_ON_A_PAGE, cursor=cursor
        )
        return found.deliveries, found.next_cursor

    hook: Subscription
    hook, (deliveries, after) = api.together(lambda: client.get_webhook(webhook_id), listed)
    return render_template(
        "webhook.html", hook=hook, deliveries=deliveries, after=after, is_first=cursor is None,
        state=state, states=_STATES,
        problem=problem, done=request.args.get("done", ""), events=words.EVENTS,
    )  # fmt: skip
