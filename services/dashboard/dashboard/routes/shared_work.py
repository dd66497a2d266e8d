"""Work on somebody else's brand: the person begins it in the menu or from the list of brands, and ends it again."""

from flask import Blueprint, current_app, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, cookies
from dashboard.cookies import SharedWork
from posthaste import Posthaste
from posthaste.errors import PosthasteError
from posthaste.records import SharedBrand

screens = Blueprint("shared_work", __name__, url_prefix="/work")

#: More are found on the page of brands.
_IN_THE_MENU = 12


@screens.get("")
def others() -> str | Response:
    """Shows in the menu the other brands that the person may work on. Without JavaScript, redirects to the list of all
    brands.
    """
    if "HX-Request" not in request.headers:
        return redirect(url_for("brands.index"))
    present = g.shared_work.brand_id if g.shared_work else ""
    found = api.own().list_shared_brands(limit=_IN_THE_MENU)
    shared = [it for it in found.brands if it.brand_id != present]
    return render_template("shared_others.html", shared=shared, has_more=found.next_cursor is not None)


@screens.post("/<brand_id>")
def begin(brand_id: str) -> Response:
    """Begins to work on a brand that somebody shares with the person."""
    client = api.own()
    brand = _shared_brand(client, brand_id)
    if brand is None:
        return redirect(url_for("brands.index", ended=1))
    response = redirect(url_for("overview.show"))
    _set(response, _begun(client, brand).packed())
    return response


@screens.post("/own")
def leave() -> Response:
    """Ends the work on somebody else's brand: the person goes back to their own account."""
    response = redirect(url_for("overview.show"))
    _set(response, "")
    return response


def joined_work(token: str, brand_id: str) -> SharedWork | None:
    """Begins the work on a brand that a person has just joined, in the session with this token, and returns it. None if
    the person does not work on the brand.

    This never prevents a sign-in: if the API does not answer, returns None, and the person begins in their own account.
    """
    client = api.own(token)
    try:
        brand = _shared_brand(client, brand_id)
        return None if brand is None else _begun(client, brand)
    except PosthasteError as error:
        current_app.logger.warning("the joined brand is not known: %s", type(error).__name__)
        return None


def only_shared_work(token: str) -> SharedWork | None:
    """Begins the work on the newest shared brand, for a person who has just signed in and has no brand of their own,
    and returns it; else returns None.

    This never prevents a sign-in: if the API does not answer, the person begins in their own account.
    """
    client = api.own(token)
    try:
        shared = client.list_shared_brands(limit=1).brands
        if not shared or client.list_brands(limit=1).brands:
            return None
        return _begun(client, shared[0])
    except PosthasteError as error:
        current_app.logger.warning("the shared brands are not known: %s", type(error).__name__)
        return None


def _shared_brand(client: Posthaste, brand_id: str) -> SharedBrand | None:
    return next((it for it in client.iterate_shared_brands(limit=100) if it.brand_id == brand_id), None)


def _begun(client: Posthaste, brand: SharedBrand) -> SharedWork:
    made = client.enter_brand(brand.brand_id)
    names = f"{brand.owner_firstname} {brand.owner_lastname}".strip()
    return SharedWork(
        token=made.session_token, brand_id=brand.brand_id, brand_name=brand.name, owner=names or brand.owner_email,
        role=made.role, scopes=list(made.scopes),
    )  # fmt: skip


def _set(response: Response, packed: str) -> None:
    cookies.set_cookie(response, "brand", packed, current_app.config["DASHBOARD"].is_https)
