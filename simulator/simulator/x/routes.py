"""The X API's routes for posts and accounts, and the control API's routes for X. The routes for files are in
media_routes.py.
"""

import re
from datetime import datetime
from typing import Any

from flask import Blueprint, Response, g, jsonify, request

from simulator.accounts import Account
from simulator.clock import rfc3339
from simulator.hosts import HERE, Hosts
from simulator.samples import photo
from simulator.simulation import Simulation
from simulator.world import Post
from simulator.x import errors, login, media_routes
from simulator.x.errors import XError, invalid, refusal
from simulator.x.fields import NEW, OLD, asked
from simulator.x.gate import Gate
from simulator.x.media import Uploads
from simulator.x.posts import SEARCH_WINDOW, Posts
from simulator.x.views import PICTURE_HOST, page_view, post_view, user_view

Answer = dict[str, Any]


def hosts(sim: Simulation) -> Hosts:
    """Returns the routes of the simulated X by host."""
    x, pictures, control = (Blueprint(name, __name__) for name in ("x", "x-pictures", "x-control"))
    uploads = Uploads(sim)
    posts = Posts(sim, uploads)
    gate = Gate(sim, posts)
    sim.on_reset += [uploads.clear, posts.clear, gate.open]

    @x.errorhandler(XError)
    def refused(problem: XError) -> Response:
        response = jsonify(problem.body)
        response.status_code = problem.status
        response.content_type = "application/problem+json"
        return response

    @x.after_request
    def add_limits(response: Response) -> Response:
        response.headers.update(g.get("limits", {}))
        return response

    _add_posts(x, posts, gate)
    _add_lists(x, posts, gate)
    x.register_blueprint(media_routes.blueprint(sim, uploads, gate))

    @x.get("/2/users/me")
    def me() -> Response:
        def show(account: Account) -> Answer:
            shown = user_view(sim, account.account_id, account.name, account.username, asked("user.fields"))
            if "subscription_type" in asked("user.fields"):  # X returns it for the caller's own account only
                shown["subscription_type"] = "Premium" if account.account_id in posts.premium else "None"
            return {"data": shown}

        return gate.run("profile", show)

    @pictures.get("/profile_images/<name>")
    def picture(name: str) -> Response:
        side = 400 if name.endswith("_400x400.jpg") else 48
        return Response(photo.draw(side, side, "jpg"), mimetype="image/jpeg")

    @control.post("/_sim/x/fields")
    def set_fields() -> Response:
        """Takes {name}, which is tweet.fields or post.fields. From then on X accepts only this one as the name of the
        query parameter that lists the fields of a post. With null X accepts both.
        """
        name = (request.get_json(force=True, silent=True) or {}).get("name")
        gate.fields_name = name if name in (OLD, NEW) else None
        return jsonify(name=gate.fields_name)

    @control.post("/_sim/x/premium")
    def make_premium() -> Response:
        """Takes {account_id} and lets the account post up to 25,000 characters, as with X Premium."""
        account_id = str(request.get_json(force=True)["account_id"])
        posts.premium.add(account_id)
        return jsonify(account_id=account_id)

    @control.post("/_sim/x/credits")
    def set_credits() -> Response:
        """Takes {left} and sets how many more calls the app may make; null: no limit."""
        left = (request.get_json(force=True, silent=True) or {}).get("left")
        gate.left = left if isinstance(left, int) else None
        return jsonify(left=left)

    page, token = login.blueprints(sim)
    return {
        ("api.x.com", "api.twitter.com"): (x, token),
        ("x.com", "twitter.com"): (page,),
        (PICTURE_HOST,): (pictures,),
        HERE: (control,),
    }


def _add_posts(x: Blueprint, posts: Posts, gate: Gate) -> None:
    @x.post("/2/tweets")
    def create() -> Response:
        body = request.get_json(silent=True)
        if not isinstance(body, dict):
            raise invalid("body", "", "Request body is not a JSON object")
        reply = body.get("reply")
        answered = posts.find(str(reply.get("in_reply_to_tweet_id"))) if isinstance(reply, dict) else None
        operation = "publish" if reply is None else "comment" if isinstance(answered, Post) else "reply"

        def act(account: Account) -> Answer:
            return {"data": post_view(posts, posts.create(account, body), set())}

        return gate.run(operation, act, window="posts", status=201)

    @x.delete("/2/tweets/<post_id>")
    def delete(post_id: str) -> Response:
        return gate.run("delete", lambda account: {"data": {"deleted": posts.delete(account, post_id)}})

    @x.get("/2/tweets")
    def show_several() -> Response:
        fields = asked("tweet.fields", "post.fields")

        def act(account: Account) -> Answer:
            found = {post_id: posts.find(post_id) for post_id in request.args.get("ids", "").split(",")}
            missing = [
                errors.not_found("tweet", "ids", post_id)["errors"][0]
                for post_id, it in found.items()
                if it is None
            ]
            shown = [post_view(posts, thing, fields) for thing in found.values() if thing is not None]
            return ({"data": shown} if shown else {}) | ({"errors": missing} if missing else {})

        return gate.run("status", act)

    @x.get("/2/tweets/<post_id>")
    def show(post_id: str) -> Response:
        fields = asked("tweet.fields", "post.fields")

        def act(account: Account) -> Answer:
            thing = posts.find(post_id)
            if thing is None:
                return errors.not_found("tweet", "id", post_id)
            return {"data": post_view(posts, thing, fields)}

        return gate.run("engagement" if "public_metrics" in fields else "status", act)


def _add_lists(x: Blueprint, posts: Posts, gate: Gate) -> None:
    sim = posts.sim

    @x.get("/2/users/<user_id>/tweets")
    def timeline(user_id: str) -> Response:
        size = _size(5, 100)
        return gate.run(
            "status", lambda account: page_view(posts, posts.by_account(user_id), size, "pagination_token")
        )

    @x.get("/2/tweets/search/recent")
    def search() -> Response:
        if not sim.told("x_search", True):
            raise refusal("reject", "comments")
        size, query = _size(10, 100), request.args.get("query", "")
        if not query:
            raise invalid("query", "", "The `query` query parameter can not be empty")
        match = re.fullmatch(r"conversation_id:(\d{1,19})", query)
        if match is None:
            raise invalid("query", query, "Only conversation_id: is supported here")
        start, earliest = request.args.get("start_time"), sim.clock.now() - SEARCH_WINDOW
        if start and datetime.fromisoformat(start) < earliest:
            raise invalid("start_time", start, f"'start_time' must be on or after {rfc3339(earliest)}.")
        return gate.run(
            "comments",
            lambda account: page_view(posts, posts.conversation(match[1]), size, "next_token"),
            window="search",
        )


def _size(low: int, high: int) -> int:
    text = request.args.get("max_results", "10")
    if not text.isdigit() or not low <= int(text) <= high:
        message = f"The `max_results` query parameter value [{text}] is not between {low} and {high}"
        raise invalid("max_results", text, message)
    return int(text)
