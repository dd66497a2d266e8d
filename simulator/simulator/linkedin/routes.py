"""LinkedIn's routes for posts, comments and company pages, and the control API's routes for LinkedIn. The routes for
files are in asset_routes.py.
"""

import re
import secrets
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, jsonify, request

from simulator.accounts import Account
from simulator.hosts import HERE, Hosts
from simulator.linkedin import asset_routes, login
from simulator.linkedin.assets import Assets
from simulator.linkedin.errors import LinkedInError, denied, invalid, member_author, no_resource, not_found
from simulator.linkedin.gate import OLDEST_VERSION, Gate
from simulator.linkedin.social import Social
from simulator.linkedin.views import comment_view, page_view, post_view
from simulator.simulation import Simulation

Answer = dict[str, Any]
_ORGANIZATION = "urn:li:organization:"
_READS_PAGES = "r_organization_social"
_THINGS = re.compile(r"urn:li:(?:share|activity|ugcPost|image|video):[\w-]+")


def hosts(sim: Simulation) -> Hosts:
    """Returns LinkedIn's routes by host. Files are uploaded to the login's host, as in the examples of LinkedIn's
    documentation.
    """
    linkedin, control = Blueprint("linkedin", __name__), Blueprint("linkedin-control", __name__)
    assets = Assets(sim)
    social = Social(sim, assets)
    gate = Gate(sim, lambda asked: _owner_in(social, assets, asked))
    sim.on_reset += [assets.clear, social.clear, gate.reset]

    _add_posts(linkedin, social, gate)
    _add_changes(linkedin, social, gate)
    _add_counts(linkedin, social, gate)
    _add_comments(linkedin, social, gate)
    _add_pages(linkedin, sim, gate)
    _add_roles(linkedin, sim, gate)
    _add_control(control, sim, gate)
    asset_routes.add(linkedin, assets, gate)
    linkedin.register_error_handler(LinkedInError, _refused)
    linkedin.app_errorhandler(404)(lambda problem: _refused(no_resource()))
    uploads = asset_routes.uploads(sim, assets, gate)
    uploads.register_error_handler(LinkedInError, _refused)
    return {
        ("api.linkedin.com",): (linkedin,),
        ("www.linkedin.com",): (login.blueprint(sim), uploads),
        HERE: (control,),
    }


def _refused(problem: LinkedInError) -> Response:
    response = jsonify(problem.body)
    response.status_code = problem.status
    return response


def _add_posts(linkedin: Blueprint, social: Social, gate: Gate) -> None:
    @linkedin.post("/rest/posts")
    def create() -> Response:
        body = _body()
        made: list[str] = []

        def act(account: Account) -> Answer:
            made.append(social.create(account, body).post_id)
            return {}

        gate.run("publish", act, member="w_member_social", page="w_organization_social")
        # The body is empty: LinkedIn returns the id in a header.
        return Response(status=201, headers={"x-restli-id": made[0], "x-linkedin-id": made[0]})

    @linkedin.get("/rest/posts")
    def find() -> Response:
        if "ids" in request.args:
            return _batch(gate, "status", "r_organization_social", own_post)
        start, count = _page()

        def act(account: Account) -> Answer:
            author = request.args.get("author", "")
            if request.args.get("q") != "author":
                raise invalid("q", "only the finder author is supported here")
            if author != account.account_id or not author.startswith(_ORGANIZATION):
                raise member_author() if gate.grants(_READS_PAGES) else denied("posts.FINDER-author")
            posts = social.sim.world.posts_of(author, "LN")[::-1]
            return page_view([post_view(post) for post in posts], start, count)

        return gate.run("status", act, page="r_organization_social")

    def own_post(account: Account, urn: str) -> Answer:
        post, _ = social.find(urn)
        if post.account_id != account.account_id or not account.account_id.startswith(_ORGANIZATION):
            raise denied("posts.GET")
        return post_view(post)

    @linkedin.get("/rest/posts/<urn>")
    def show(urn: str) -> Response:
        return gate.run("status", lambda account: own_post(account, urn), page="r_organization_social")


def _add_changes(linkedin: Blueprint, social: Social, gate: Gate) -> None:
    @linkedin.post("/rest/posts/<urn>")
    def update(urn: str) -> Response:
        """Changes a post (PARTIAL_UPDATE): `{patch: {$set: {…}}}`."""
        changes = _patch(_body())

        def act(account: Account) -> Answer:
            social.change(account, urn, changes)
            return {}

        return _empty(gate.run(None, act, member="w_member_social", page="w_organization_social"))

    @linkedin.delete("/rest/posts/<urn>")
    def remove(urn: str) -> Response:
        def act(account: Account) -> Answer:
            social.remove(account, urn)
            return {}

        return _empty(gate.run(None, act, member="w_member_social", page="w_organization_social"))


def _add_counts(linkedin: Blueprint, social: Social, gate: Gate) -> None:
    def counts(account: Account, urn: str) -> Answer:
        post, _ = social.find(urn)
        likes = {"LIKE": {"reactionType": "LIKE", "count": post.likes}} if post.likes else {}
        top = sum(1 for comment in list(post.comments) if comment.parent_id is None)
        return {
            "entity": urn,
            "reactionSummaries": likes,
            "commentSummary": {"count": post.comment_count, "topLevelCount": top},
            "commentsState": "OPEN",
        }

    @linkedin.get("/rest/socialMetadata")
    def batch_metadata() -> Response:
        return _batch(gate, "engagement", "r_organization_social_feed", counts)

    @linkedin.get("/rest/socialMetadata/<urn>")
    def metadata(urn: str) -> Response:
        return gate.run("engagement", lambda account: counts(account, urn), page="r_organization_social_feed")


def _add_comments(linkedin: Blueprint, social: Social, gate: Gate) -> None:
    @linkedin.post("/rest/socialActions/<urn>/comments")
    def say(urn: str) -> Response:
        body = _body()

        def act(account: Account) -> Answer:
            return comment_view(social, *social.say(account, urn, body))

        response = gate.run(
            "reply" if urn.startswith("urn:li:comment:") else "comment",
            act,
            status=201,
            member="w_member_social_feed",
            page="w_organization_social_feed",
        )
        response.headers["x-restli-id"] = str(response.get_json()["id"])
        return response

    @linkedin.get("/rest/socialActions/<urn>/comments")
    def comments(urn: str) -> Response:
        start, count = _page()

        def act(account: Account) -> Answer:
            post, found = social.listed(urn)
            if not account.account_id.startswith(_ORGANIZATION):
                raise denied("socialActions.comments.GET")
            return page_view([comment_view(social, post, comment) for comment in found], start, count)

        return gate.run("comments", act, page="r_organization_social_feed")

    @linkedin.get("/rest/socialActions/<urn>/comments/<number>")
    def comment(urn: str, number: str) -> Response:
        def act(account: Account) -> Answer:
            post, found = social.find(f"urn:li:comment:({urn},{number})")
            assert found is not None
            return comment_view(social, post, found)

        return gate.run("comments", act, page="r_organization_social_feed")

    @linkedin.post("/rest/socialActions/<urn>/comments/<number>")
    def edit(urn: str, number: str) -> Response:
        """Changes a comment (PARTIAL_UPDATE): `{patch: {message: {$set: {text}}}}`."""
        changes = _patch(_body().get("patch"), "message")

        def act(account: Account) -> Answer:
            social.rewrite(account, f"urn:li:comment:({urn},{number})", changes)
            return {}

        return _empty(gate.run(None, act, member="w_member_social_feed", page="w_organization_social_feed"))

    @linkedin.delete("/rest/socialActions/<urn>/comments/<number>")
    def unsay(urn: str, number: str) -> Response:
        def act(account: Account) -> Answer:
            social.unsay(account, f"urn:li:comment:({urn},{number})", request.args.get("actor", ""))
            return {}

        return _empty(gate.run(None, act, member="w_member_social_feed", page="w_organization_social_feed"))


def _add_pages(linkedin: Blueprint, sim: Simulation, gate: Gate) -> None:
    def organization(number: str) -> Answer:
        account = sim.accounts.find(f"{_ORGANIZATION}{number}")
        if account is None:
            raise not_found(f"organization {number}")
        return {"id": int(number), "localizedName": account.name, "vanityName": account.username}

    @linkedin.get("/rest/organizations/<number>")
    def page(number: str) -> Response:
        def act(account: Account) -> Answer:
            if account.account_id != f"{_ORGANIZATION}{number}":
                raise denied("organizations.GET")
            return organization(number)

        return gate.run("profile", act)

    @linkedin.get("/rest/organizationsLookup")
    def lookup() -> Response:
        match = re.fullmatch(r"List\((\d+(?:,\d+)*)\)", request.args.get("ids", ""))
        numbers = match[1].split(",") if match else []
        known = [number for number in numbers if sim.accounts.find(f"{_ORGANIZATION}{number}")]
        return gate.run(None, lambda account: {"results": {number: organization(number) for number in known}})

    @linkedin.get("/rest/networkSizes/<urn>")
    def followers(urn: str) -> Response:
        account = sim.accounts.find(urn)
        return gate.run("profile", lambda caller: {"firstDegreeSize": account.followers if account else 0})

    @linkedin.get("/v2/userinfo")
    def userinfo() -> Response:
        def act(account: Account) -> Answer:
            picture = f"{request.host_url}media/photo-200x200.jpg"
            return {"sub": account.account_id.rpartition(":")[2], "name": account.name, "picture": picture}

        return gate.run("profile", act, member="openid", page="openid")

    @linkedin.get("/v2/me")
    def basic_profile() -> Response:
        def act(account: Account) -> Answer:
            first, _, last = account.name.partition(" ")
            address = {"identifier": f"{request.host_url}media/photo-200x200.jpg"}
            return {
                "id": account.account_id.rpartition(":")[2],
                "localizedFirstName": first,
                "localizedLastName": last,
                "vanityName": account.username,
                "profilePicture": {"displayImage~": {"elements": [{"identifiers": [address]}]}},
            }

        return gate.run("profile", act, member="r_basicprofile", page="r_basicprofile")


def _add_roles(linkedin: Blueprint, sim: Simulation, gate: Gate) -> None:
    @linkedin.get("/rest/organizationAcls")
    def administered() -> Response:
        """Lists the company pages of the person who logged in for the token. For a token that the control API made,
        lists the account itself.
        """
        start, count = _page()
        token = request.headers.get("Authorization", "").partition(" ")[2]
        pages = [urn for urn, *_ in sim.accounts.facts(token).get("orgs", ())]

        def act(account: Account) -> Answer:
            if request.args.get("q") != "roleAssignee":
                raise invalid("q", "only the finder roleAssignee is supported here")
            mine = pages or [account.account_id]
            rows = [
                {
                    "organization": urn,
                    "role": sim.told("linkedin_role", gate.roles.get(urn, "ADMINISTRATOR")),
                    "state": "APPROVED",
                }
                for urn in mine
            ]
            return page_view(rows, start, count)

        return gate.run("profile", act, member="rw_organization_admin", page="rw_organization_admin")


def _add_control(control: Blueprint, sim: Simulation, gate: Gate) -> None:
    @control.post("/_sim/linkedin/members")
    def add_member() -> tuple[Response, int]:
        """Takes {name, scopes?} and returns a new person with an access token, which has these scopes, or all if none
        are given.

        Even with all scopes a person's token cannot read posts or lists of comments, as at LinkedIn.
        """
        body = request.get_json(force=True, silent=True) or {}
        name = str(body.get("name") or "Mel Member")
        facts = {"scopes": body["scopes"]} if "scopes" in body else {}
        account = Account("LN", f"urn:li:person:{secrets.token_urlsafe(8)}", name, "melmember")
        token = sim.accounts.token(account, **facts)
        return jsonify(
            platform="LN", account_id=account.account_id, access_token=token, username="melmember"
        ), 201

    @control.post("/_sim/linkedin/roles")
    def set_role() -> Response:
        """Takes {account_id, role} and sets the role that all members have on this company page."""
        body = request.get_json(force=True)
        gate.roles[str(body["account_id"])] = str(body["role"])
        return jsonify(body)

    @control.post("/_sim/linkedin/young")
    def make_young() -> Response:
        """Takes {account_id, seconds} and makes LinkedIn report the account's token as revoked for this time."""
        body = request.get_json(force=True)
        gate.make_young(str(body["account_id"]), float(body["seconds"]))
        return jsonify(body)

    @control.post("/_sim/linkedin/version")
    def set_oldest() -> Response:
        """Takes {oldest} and sets the oldest API version that LinkedIn supports. With null, it is the version that was
        the oldest in November 2026.
        """
        body = request.get_json(force=True, silent=True) or {}
        gate.oldest_version = int(body.get("oldest") or OLDEST_VERSION)
        return jsonify(oldest=gate.oldest_version)


def _owner_in(social: Social, assets: Assets, asked: str) -> str | None:
    """Returns the account id of the owner of the first post or file whose URN is in the text; None if there is none."""
    for urn in _THINGS.findall(asked):
        try:
            is_file = urn.startswith(("urn:li:image:", "urn:li:video:"))
            return assets.find(urn).owner if is_file else social.find(urn)[0].account_id
        except LinkedInError:
            continue
    return None


def _body() -> dict[str, Any]:
    body = request.get_json(silent=True)
    if not isinstance(body, dict):
        raise invalid("", "the body is not a JSON object", "ILLEGAL_ARGUMENT")
    return body


def _batch(gate: Gate, operation: str, scope: str, show: Callable[[Account, str], Answer]) -> Response:
    """Answers a BATCH_GET (`ids=List(…)`). For each id, the answer contains what `show` returns, or the LinkedInError
    that it raises.
    """
    match = re.fullmatch(r"List\((.*)\)", request.args.get("ids", ""))
    if match is None:
        raise invalid("ids", "has to be a list", "PARAM_INVALID")

    def act(account: Account) -> Answer:
        answer: Answer = {"results": {}, "statuses": {}, "errors": {}}
        for urn in filter(None, match[1].split(",")):
            try:
                answer["results"][urn] = show(account, urn)
                answer["statuses"][urn] = 200
            except LinkedInError as problem:
                answer["errors"][urn] = problem.body
                answer["statuses"][urn] = problem.status
        return answer

    return gate.run(operation, act, page=scope)


def _patch(body: Any, name: str = "patch") -> dict[str, Any]:
    """Returns the changes in a PARTIAL_UPDATE, which are the object `$set` in the body's field `name`. Raises
    LinkedInError if the header X-RestLi-Method does not say PARTIAL_UPDATE, or if there is no such object.
    """
    if request.headers.get("X-RestLi-Method", "").upper() != "PARTIAL_UPDATE":
        raise invalid("", "X-RestLi-Method has to be PARTIAL_UPDATE", "ILLEGAL_ARGUMENT")
    part = body.get(name) if isinstance(body, dict) else None
    changes = part.get("$set") if isinstance(part, dict) else None
    if not isinstance(changes, dict):
        raise invalid(f"{name}/$set", "field is required but not found", "MISSING_FIELD")
    return changes


def _empty(response: Response) -> Response:
    """Turns the response into a 204 without a body, LinkedIn's answer to a change or deletion, and returns it."""
    response.status_code = 204
    response.data = b""
    return response


def _page() -> tuple[int, int]:
    start, count = request.args.get("start", "0"), request.args.get("count", "10")
    if not start.isdigit() or not count.isdigit() or int(count) > 100:
        raise invalid("count", "start and count have to be numbers, count up to 100", "PARAM_INVALID")
    return int(start), int(count)
