"""The screens that connect linked pages through the platform's own login, check them, reconnect them and unlink
them."""

from flask import Blueprint, current_app, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, cookies, words
from dashboard.kept import forget, keep
from dashboard.routes.shared import Places, forget_places, recent_brands
from posthaste.errors import ApiError, AuthenticationError, InvalidRequest
from posthaste.records import LinkBegun, PageHealth

screens = Blueprint("pages", __name__, url_prefix="/pages")

_ON_A_PAGE = 50


@screens.get("")
def index() -> str:
    return _listed()


@screens.post("/connect")
def connect() -> tuple[str, int] | Response:
    """Begins to link pages in this browser, and shows a link to the platform's login.

    It is a link because the security headers forbid a form that leads to another site.
    """
    platform, brand_id = request.form.get("platform", ""), request.form.get("brand_id", "")
    if platform not in words.PLATFORMS or not brand_id:
        return _listed("Choose a platform and a brand."), 400
    try:
        begun = _begun(platform, brand_id)
    except AuthenticationError:
        raise
    except ApiError as error:
        if error.status >= 500:
            raise
        return _listed(words.said(error)), error.status
    response = make_response(render_template("page_connect.html", begun=begun, platform=platform))
    cookies.begin_linking(response, begun.session_id, current_app.config["DASHBOARD"].is_https)
    return response


@screens.get("/linked")
def linked() -> str | tuple[str, int] | Response:
    """Shows the accounts that the platform's login has found, for the person to choose from.

    The platform's login leads back to this screen, which shows them only in the browser in which the login began.
    """
    session_id = request.args.get("session_id", "")
    if not session_id:
        return redirect(url_for("pages.index"))
    if not _is_of_this_browser(session_id):
        return _begun_elsewhere()
    return render_template("page_linked.html", link=api.reader().get_link(session_id), problem="")


@screens.post("/linked/<session_id>")
def choose(session_id: str) -> str | tuple[str, int] | Response:
    """Links the chosen accounts of the platform to the brand."""
    if not _is_of_this_browser(session_id):
        return _begun_elsewhere()
    client = api.patient()
    chosen = request.form.getlist("account_id")
    if not chosen:
        link = client.get_link(session_id)
        return render_template("page_linked.html", link=link, problem="Choose at least one."), 400
    try:
        client.choose_accounts(session_id, account_ids=chosen)
    except AuthenticationError:
        raise
    except ApiError as error:
        if error.status == 404 or error.status >= 500:
            raise
        link = client.get_link(session_id)
        return render_template("page_linked.html", link=link, problem=words.said(error)), error.status
    forget_places()
    return redirect(url_for("pages.index", done="linked"))


@screens.get("/<page_id>/reconnect")
def reconnect(page_id: str) -> Response:
    """Redirects to the list of pages. The API's answers name this address for reconnecting a page."""
    return redirect(url_for("pages.index", _anchor=page_id))


@screens.post("/<page_id>/check")
def check(page_id: str) -> str:
    """Asks the platform whether the page's connection works, and shows the result."""
    return _listed(health=api.patient().check_page(page_id))


@screens.get("/<page_id>/waiting")
def waiting(page_id: str) -> str:
    """Shows the part of the form that says what unlinking a page would cancel."""
    found = api.reader().count_scheduled_posts(page_id=page_id)
    is_cut = words.MOST_COUNTED in (found.queued, found.held)
    return render_template(
        "page_waiting.html", page_id=page_id, number=found.queued + found.held, is_cut=is_cut
    )


@screens.post("/<page_id>/unlink")
def unlink(page_id: str) -> str | tuple[str, int] | Response:
    """Unlinks a page. Its scheduled posts are cancelled only if the person has ticked that."""
    try:
        api.patient().unlink_page(page_id, cancel_queued=request.form.get("cancel") == "yes")
    except AuthenticationError:
        raise
    except ApiError as error:
        if error.status == 404 or error.status >= 500:
            raise
        queued = error.body.get("queued_posts")
        told = words.said(error)
        if queued:
            waiting = words.count(int(queued), "post is", "posts are")
            told = f"{waiting} still scheduled for this page. Tick the box to cancel them too."
        return _listed(told), error.status
    forget_places()
    return redirect(url_for("pages.index", done="unlinked"))


def _is_of_this_browser(session_id: str) -> bool:
    return cookies.is_linking_of_this_browser(session_id, current_app.config["DASHBOARD"].is_https)


def _begun_elsewhere() -> tuple[str, int]:
    return render_template("page_elsewhere.html"), 403


def _begun(platform: str, brand_id: str) -> LinkBegun:
    client = api.reader()
    back = current_app.config["DASHBOARD"].public_url + url_for("pages.linked")
    try:
        return client.begin_link(platform=platform, brand_id=brand_id, return_url=back)  # type: ignore[arg-type]
    except InvalidRequest as error:
        if [it.field for it in error.fields] != ["return_url"]:
            raise
        # The operator does not list our address (CONNECT_RETURN_URLS): the person comes back by hand.
        return client.begin_link(platform=platform, brand_id=brand_id)  # type: ignore[arg-type]


def _listed(problem: str = "", health: PageHealth | None = None) -> str:
    client, cursor = api.reader(), request.args.get("after") or None
    found, brands = api.together(
        lambda: client.list_pages(limit=_ON_A_PAGE, cursor=cursor), recent_brands(client)
    )
    pages = {it.id: it for it in found.pages}
    if cursor or found.next_cursor:
        forget("pages")  # other screens name them as they are now, too
    else:
        keep("pages", pages)
    return render_template(
        "pages.html", places=Places(pages, brands), problem=problem, health=health,
        done=request.args.get("done", ""), after=found.next_cursor, is_first=cursor is None,
    )  # fmt: skip
