"""The routes of the control API (`/_sim`) for tests and operators (docs/local-stack.md, "Simulator control")."""

import zlib
from dataclasses import asdict
from typing import Any, NoReturn

from flask import Blueprint, Response, abort, jsonify, request

from simulator.accounts import Account
from simulator.clock import rfc3339
from simulator.faults import MODES, OPERATIONS, SIDES
from simulator.platforms import PLATFORMS
from simulator.simulation import DOUBTFUL, Simulation
from simulator.world import Post


def blueprint(sim: Simulation) -> Blueprint:
    """Returns the routes of the control API for this simulator."""
    control = Blueprint("control", __name__, url_prefix="/_sim")
    _add_accounts(control, sim)
    _add_faults(control, sim)
    _add_content(control, sim)
    _add_works(control, sim)

    @control.get("/health")
    def health() -> Response:
        return jsonify(status="ok")

    @control.get("/clock")
    def show_clock() -> Response:
        return jsonify(shift_seconds=sim.clock.shift_seconds, now=rfc3339(sim.clock.now()))

    @control.post("/clock")
    def shift_clock() -> Response:
        """Takes {shift_seconds} and sets by how much the simulator's clock differs from real time. An earlier shift no
        longer counts.
        """
        sim.clock.shift_seconds = _number(_body(), "shift_seconds", float)
        return show_clock()

    @control.post("/latencies")
    def set_latencies() -> Response:
        """Takes {seed} and gives calls realistic latencies, drawn with this seed (`latency.py`). An empty seed turns
        them off.
        """
        sim.latencies.begin(_text(_body(), "seed") or "")
        return jsonify(seed=sim.latencies.seed)

    @control.post("/differences")
    def set_differences() -> Response:
        """Takes {name: value} and changes how the platforms behave for all accounts. `DOUBTFUL` lists the names. Each
        stands for a behaviour that a platform may change, or that differs between real apps and accounts.

        Names that are left out get their usual values again.
        """
        body = _body()
        if unknown := sorted(set(body) - set(DOUBTFUL)):
            _refuse(f"unknown: {', '.join(unknown)}; known: {', '.join(DOUBTFUL)}")
        sim.differences = body
        return jsonify(body)

    @control.post("/reset")
    def reset() -> Response:
        """Deletes faults, differences, posts, comments, payments, and the records of what the AI providers made.
        Accounts, access tokens, Stripe's customers and the clock stay.
        """
        sim.reset()
        return jsonify(status="ok")

    return control


def _add_accounts(control: Blueprint, sim: Simulation) -> None:
    @control.post("/accounts")
    def add_account() -> tuple[Response, int]:
        body = _body()
        platform = _platform(body)
        if PLATFORMS[platform].new_account_id is None:
            _refuse(f"{platform} has no accounts")
        account = sim.accounts.issue(platform, _text(body, "name"), _text(body, "username"))
        return jsonify(_account(account)), 201

    @control.get("/accounts")
    def list_accounts() -> Response:
        return jsonify(
            accounts=[_account(account) for account in sim.accounts.known(request.args.get("platform"))]
        )

    @control.post("/accounts/<account_id>/expire")
    def expire(account_id: str) -> Response:
        expired = bool(_body().get("expired", True))
        sim.accounts.set_expired(account_id, expired)
        return jsonify(account_id=account_id, expired=expired)

    def _account(account: Account) -> dict[str, Any]:
        return {
            "platform": account.platform,
            "account_id": account.account_id,
            "access_token": sim.accounts.token(account),
            "name": account.name,
            "username": account.username,
            "followers": account.followers,
            "picture": request.host_url + "media/photo-200x200.jpg",
            "expired": sim.accounts.is_expired(account.account_id),
        }


def _add_faults(control: Blueprint, sim: Simulation) -> None:
    @control.post("/faults")
    def add_fault() -> tuple[Response, int]:
        body = _body()
        platform = _platform(body)
        operation, mode = body.get("operation", "any"), body.get("mode")
        times = _number(body, "times", int, 1)
        if operation not in (*OPERATIONS, "any") or mode not in MODES or times < 1:
            _refuse(f"operation: any or {', '.join(OPERATIONS)}; mode: {', '.join(MODES)}; times: 1 or more")
        seconds, rate = (_positive(body, name) for name in ("seconds", "bytes_per_second"))
        side = body.get("side", "answer") if mode == "trickle" else None
        if (seconds is not None and mode != "slow") or (rate is not None) != (mode == "trickle"):
            _refuse("seconds are for slow; trickle, and it alone, needs bytes_per_second")
        if side is not None and (side not in SIDES or (side == "body" and operation != "any")):
            _refuse("side: answer or body; a body's operation is any, as it is not known before it is read")
        made = sim.faults.add(
            platform, operation, mode, times, _text(body, "account_id"),
            seconds=seconds, bytes_per_second=rate, side=side,
        )  # fmt: skip
        return jsonify(id=made), 201

    @control.get("/faults")
    def list_faults() -> Response:
        return jsonify(
            faults=[
                {
                    "id": fault.fault_id, "platform": fault.platform, "operation": fault.operation,
                    "mode": fault.mode, "times": fault.times, "account_id": fault.account_id,
                    "seconds": fault.seconds, "bytes_per_second": fault.bytes_per_second, "side": fault.side,
                }
                for fault in sim.faults.rows()
            ]
        )  # fmt: skip

    @control.delete("/faults")
    def clear_faults() -> Response:
        sim.faults.clear()
        return jsonify(faults=[])


def _add_content(control: Blueprint, sim: Simulation) -> None:
    @control.get("/posts")
    def list_posts() -> Response:
        """Lists posts in the order of their creation."""
        posts = sim.world.posts_of(request.args.get("account_id"), request.args.get("platform"))
        return jsonify(posts=[_shown_post(post) for post in posts])

    @control.post("/comments")
    def add_comment() -> tuple[Response, int]:
        body = _body()
        post = _post(sim, body)
        author, text, parent_id = body.get("from"), _text(body, "text"), _text(body, "parent_id")
        name = str(author.get("name", "")) if isinstance(author, dict) else str(author or "")
        is_named = body.get("named") is not False
        if not name or text is None:
            _refuse("from and text are needed")
        if not is_named and post.platform != "FB":
            _refuse("only Facebook leaves out who wrote a comment")
        if parent_id is not None and sim.world.comments.get(parent_id) not in post.comments:
            _refuse(f"no comment {parent_id} on this post", 404)
        visitor_id = f"99{zlib.crc32(name.encode('utf-8', 'replace')):013d}"
        comment = sim.comment(post, visitor_id if is_named else "", name, text, parent_id)
        return jsonify(id=comment.comment_id), 201

    @control.post("/metrics")
    def set_metrics() -> Response:
        """Takes {platform, post_id} and new counts (likes, comments, shares), and stores the counts in this post. Each
        comment that is added later raises the count of comments by one.
        """
        body = _body()
        post = _post(sim, body)
        post.likes = _number(body, "likes", int, post.likes)
        post.comment_count = _number(body, "comments", int, post.comment_count)
        post.shares = _number(body, "shares", int, post.shares)
        return jsonify(likes=post.likes, comments=post.comment_count, shares=post.shares)


def _add_works(control: Blueprint, sim: Simulation) -> None:
    @control.get("/ai")
    def list_works() -> Response:
        """Lists the pictures, films and captions that the AI providers made, with their number by provider and
        operation.
        """
        return jsonify(
            counts=sim.works.counts(),
            works=[{**asdict(work), "created_at": rfc3339(work.created_at)} for work in sim.works.rows()],
        )


def _shown_post(post: Post) -> dict[str, Any]:
    return {
        "id": post.post_id,
        "platform": post.platform,
        "account_id": post.account_id,
        "text": post.text,
        "media": [
            {"type": medium.type, "bytes": medium.bytes}
            | ({"alt_text": medium.alt_text} if medium.alt_text else {})
            for medium in post.media
        ],
        "settings": post.settings,
        "created_at": rfc3339(post.created_at),
        "comments": [
            {
                "id": comment.comment_id, "from": comment.author, "text": comment.text,
                "parent_id": comment.parent_id, "created_at": rfc3339(comment.created_at),
            }
            for comment in list(post.comments)
        ],
    }  # fmt: skip


def _post(sim: Simulation, body: dict[str, Any]) -> Post:
    post = sim.world.posts.get(str(body.get("post_id")))
    if post is None or post.platform != _platform(body):
        _refuse("no such post on this platform", 404)
    return post


def _platform(body: dict[str, Any]) -> str:
    platform = _text(body, "platform")
    if platform is None or platform not in PLATFORMS:
        _refuse(f"platform: one of {', '.join(PLATFORMS)}")
    return platform


def _text(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        _refuse(f"{name} has to be text")
    return value


def _number(body: dict[str, Any], name: str, kind: type, default: Any = None) -> Any:
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, kind)):
        _refuse(f"{name} has to be a number")
    return kind(value)


def _positive(body: dict[str, Any], name: str) -> float | None:
    value = _number(body, name, float) if body.get(name) is not None else None
    if value is not None and value <= 0:
        _refuse(f"{name} has to be more than 0")
    return value


def _body() -> dict[str, Any]:
    body = request.get_json(force=True, silent=True) if request.get_data() else {}
    if not isinstance(body, dict):
        _refuse("the body has to be a JSON object")
    return body


def _refuse(message: str, status: int = 400) -> NoReturn:
    response = jsonify(error=message)
    response.status_code = status
    abort(response)
