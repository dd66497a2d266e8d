"""The screens of brands, and of the people who work on them."""

from collections.abc import Callable
from typing import Any, cast

from flask import Blueprint, abort, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, words
from dashboard.routes.shared import by_name, forget_places
from posthaste import Posthaste
from posthaste.errors import ApiError, AuthenticationError
from posthaste.records import CollaboratorList, InvitationList

screens = Blueprint("brands", __name__, url_prefix="/brands")

Answer = tuple[str, int] | Response
_ON_A_PAGE = 50
_GUIDELINES = ("caption_guidelines", "image_guidelines")


@screens.get("")
def index() -> str:
    return _listed()


@screens.post("")
def create() -> Answer:
    """Creates a brand and shows it."""

    def make(client: Posthaste) -> str:
        form = request.form
        made = client.create_brand(
            name=form.get("name", "").strip(),
            timezone=form.get("zone", "UTC"),
            idempotency_key=form.get("key") or None,
        )
        return url_for("brands.show", brand_id=made.id)

    return _done(make, _listed)


@screens.get("/<brand_id>")
def show(brand_id: str) -> str:
    return _shown(brand_id)


@screens.post("/<brand_id>")
def change(brand_id: str) -> Answer:
    """Changes the name and the time zone of a brand, or what AI is told about it.

    After a change of name and zone the answer is a page that holds the former values, so that the change can be undone:
    a redirect's address has no room for them.
    """

    def edit(client: Posthaste) -> str | Answer:
        form = request.form
        if _GUIDELINES[0] in form:
            captions, images = (form.get(name, "").strip() or None for name in _GUIDELINES)
            client.edit_brand(brand_id, caption_guidelines=captions, image_guidelines=images)
            return url_for("brands.show", brand_id=brand_id, done="changed")
        client.edit_brand(brand_id, name=form.get("name", "").strip(), timezone=form.get("zone", "UTC"))
        if form.get("was_name"):
            return _shown(brand_id, done="changed"), 200
        return url_for("brands.show", brand_id=brand_id, done="changed")

    return _done(edit, lambda problem: _shown(brand_id, problem))


@screens.post("/<brand_id>/<action>")
def archive(brand_id: str, action: str) -> Answer:
    """Archives a brand that has no pages, or restores it."""

    def edit(client: Posthaste) -> str:
        change = client.archive_brand if action == "archive" else client.restore_brand
        change(brand_id, idempotency_key=request.form.get("key") or None)
        return url_for("brands.show", brand_id=brand_id, done=f"{action}d")

    if action not in ("archive", "restore"):
        abort(404)
    return _done(edit, lambda problem: _shown(brand_id, problem))


@screens.post("/<brand_id>/people/<user_id>")
def change_role(brand_id: str, user_id: str) -> Answer:
    """Changes the role of a person on the brand, or removes the person from it."""

    def edit(client: Posthaste) -> str:
        if request.form.get("do") == "remove":
            client.remove_collaborator(brand_id, user_id)
            return url_for("brands.show", brand_id=brand_id, done="removed")
        client.edit_collaborator(brand_id, user_id, role=cast(Any, request.form.get("role", "")))
        return url_for("brands.show", brand_id=brand_id, done="role")

    return _done(edit, lambda problem: _shown(brand_id, problem))


@screens.post("/<brand_id>/invitations")
def invite(brand_id: str) -> Answer:
    def send(client: Posthaste) -> str:
        form = request.form
        client.invite_person(
            brand_id,
            email=form.get("email", "").strip(),
            role=cast(Any, form.get("role", "")),
            idempotency_key=form.get("key") or None,
        )
        return url_for("brands.show", brand_id=brand_id, done="invited")

    return _done(send, lambda problem: _shown(brand_id, problem))


@screens.post("/<brand_id>/invitations/<invitation_id>")
def withdraw(brand_id: str, invitation_id: str) -> Answer:
    def end(client: Posthaste) -> str:
        client.withdraw_invitation(brand_id, invitation_id)
        return url_for("brands.show", brand_id=brand_id, done="withdrawn")

    return _done(end, lambda problem: _shown(brand_id, problem))


def _done(work: Callable[[Posthaste], str | Answer], again: Callable[[str], str]) -> Answer:
    """Calls `work`, which makes a change. Redirects to the address that `work` returns; if `work` returns an answer,
    returns that.

    If the API refuses the change, `again` renders the screen with the form and the reason.
    """
    try:
        forget_places()
        done = work(api.reader())
        return redirect(done) if isinstance(done, str) else done
    except AuthenticationError:
        raise
    except ApiError as error:
        if error.status == 404 or error.status >= 500:
            raise
        return again(words.said(error)), error.status


def _listed(problem: str = "") -> str:
    client, own = api.reader(), api.own()
    asked = request.args
    with_archived = asked.get("archived") == "yes"
    brands, shared = api.together(
        lambda: client.list_brands(
            archived=with_archived or None, limit=_ON_A_PAGE, cursor=asked.get("after") or None
        ),
        lambda: own.list_shared_brands(limit=_ON_A_PAGE, cursor=asked.get("shared_after") or None),
    )
    return render_template(
        "brands.html", brands=brands.brands, after=brands.next_cursor, shared=shared.brands,
        shared_after=shared.next_cursor, is_first=not {"after", "shared_after"} & set(asked), problem=problem,
        form=request.form, with_archived=with_archived,
    )  # fmt: skip


def _shown(brand_id: str, problem: str = "", *, done: str = "") -> str:
    """Shows a brand and, to its owner only, the people who work on it and the open invitations."""
    client, asked = api.reader(), request.args
    people: CollaboratorList | None = None
    invited: InvitationList | None = None
    if g.shared_work is None:
        view, people, invited = api.together(
            lambda: client.get_brand(brand_id),
            lambda: client.list_collaborators(brand_id, limit=_ON_A_PAGE, cursor=asked.get("after") or None),
            lambda: client.list_invitations(
                brand_id, limit=_ON_A_PAGE, cursor=asked.get("invited_after") or None
            ),
        )
    else:
        view = client.get_brand(brand_id)
    return render_template(
        "brand.html", brand=view.brand, pages=sorted(view.brand.pages, key=by_name),
        people=people and people.collaborators, after=people and people.next_cursor,
        invitations=invited and invited.invitations, invited_after=invited and invited.next_cursor,
        is_first=not {"after", "invited_after"} & set(asked), problem=problem,
        done=done or asked.get("done", ""),
    )  # fmt: skip
