"""The Graph API's routes: every call names a node and perhaps an edge; the rows in EDGES name the handlers."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, g, request

from simulator.hosts import HERE, Hosts
from simulator.meta import callers, control, errors, facebook, hooks, instagram, permissions, tokens
from simulator.meta.call import Call, Edges, Node
from simulator.meta.errors import GraphError
from simulator.simulation import Simulation

VERSION = "v26.0"
EDGES: Edges = {**facebook.EDGES, **instagram.EDGES, **hooks.EDGES, **tokens.EDGES}

#: Usage is reported as used up under a fault only, because load tests exceed a page's real limit (our choice).
_HIGHEST_USAGE_PERCENT = 60
#: Calls a page may make in 24 hours for each engaged user; we count one (platforms.md 1).
_CALLS_ALLOWED = 4800
_APP_USAGE = '{"call_count":%d,"total_cputime":%d,"total_time":%d}'
_ACCOUNT_USAGE = (
    '{"%s":[{"type":"%s","call_count":%d,"total_cputime":%d,"total_time":%d,'
    '"estimated_time_to_regain_access":%d}]}'
)


def hosts(sim: Simulation) -> Hosts:
    """Returns the routes of one simulator. The host for videos serves the same API (docs/platforms/facebook.md)."""
    webhooks = hooks.Hooks(sim)
    sim.on_reset.append(webhooks.clear)
    sim.on_comment.append(webhooks.on_comment)
    return {
        ("graph.facebook.com", "graph-video.facebook.com"): (_graph(sim),),
        ("www.facebook.com",): (_login(sim),),
        HERE: (control.blueprint(webhooks, sim),),
    }


def _login(sim: Simulation) -> Blueprint:
    login = Blueprint("login-FB", __name__)

    @login.get(f"/{VERSION}/dialog/oauth")
    def log_in() -> Response:
        return tokens.log_in(sim)

    return login


def _graph(sim: Simulation) -> Blueprint:
    graph = Blueprint("graph", __name__)
    made: Counter[str] = Counter()

    @graph.errorhandler(GraphError)
    def refused(problem: GraphError) -> Response:
        response = _answer(problem.body(), problem.status)
        if problem.code == 190:
            response.headers["WWW-Authenticate"] = (
                f'OAuth "Facebook Platform" "invalid_token" "{problem.message}"'
            )
        return response

    @graph.after_request
    def add_usage(response: Response) -> Response:
        node: Node | None = g.get("node")
        used_up = g.get("used_up", False)
        percent = 100 if used_up else 1
        response.headers["facebook-api-version"] = sim.told("graph_version", VERSION)
        response.headers["X-App-Usage"] = _APP_USAGE % (percent, percent, percent)
        if node is not None:
            made[node.account_id] += 1
            share = (
                100 if used_up else min(made[node.account_id] * 100 // _CALLS_ALLOWED, _HIGHEST_USAGE_PERCENT)
            )
            kind = "instagram" if node.platform == "IG" else "pages"
            usage = _ACCOUNT_USAGE % (node.account_id, kind, share, share, share, used_up)
            response.headers["X-Business-Use-Case-Usage"] = usage
        return response

    @graph.route(f"/{VERSION}/<node_id>", methods=["GET", "POST", "DELETE"])
    @graph.route(f"/{VERSION}/<node_id>/<edge>", methods=["GET", "POST", "DELETE"])
    def on_node(node_id: str, edge: str = "") -> Response:
        return _answer(_run(sim, node_id, edge))

    @graph.get("/oauth/access_token")
    @graph.get(f"/{VERSION}/oauth/access_token")
    def access_token() -> Response:
        query = request.args.to_dict()
        return _answer(_faulted(sim, "FB", "token", None, lambda: tokens.exchange(sim, query)))

    @graph.get("/debug_token")
    @graph.get(f"/{VERSION}/debug_token")
    def debug_token() -> Response:
        query = request.args.to_dict()
        holder = sim.accounts.holder(query.get("input_token", ""))
        platform = "IG" if holder and holder.platform == "IG" else "FB"
        account_id = holder.account_id if holder else None
        return _answer(_faulted(sim, platform, "token", account_id, lambda: tokens.debug(sim, query)))

    @graph.app_errorhandler(404)
    def unknown(problem: Exception) -> Response:
        rest = request.path.removeprefix(f"/{VERSION}/").partition("/")[2]
        return refused(GraphError(2500, f"Unknown path components: /{rest}"))

    return graph


def _run(sim: Simulation, node_id: str, edge: str) -> dict[str, Any]:
    params = _parameters()
    token = str(params.get("access_token", "")) or request.headers.get("Authorization", "").partition(" ")[2]
    caller = callers.caller_of(sim, token, str(params.get("appsecret_proof", "")))
    node = callers.find_node(sim, caller, node_id)
    row = EDGES.get((request.method, node.kind, edge)) if node else None
    if node is None or row is None:
        raise errors.missing(node_id, request.method)
    if caller.platform == callers.USER.platform and request.method != "GET":
        raise GraphError(200, "(#200) This endpoint requires a page access token")
    g.node = node
    scopes = sim.accounts.facts(token).get("scopes")
    allowed = None if scopes is None else frozenset(scopes)
    urls = request.base_url, request.host_url
    call = Call(sim, caller, allowed, params, request.args.to_dict(), request.files, *urls)
    permissions.check(call, request.method, node.kind, edge)
    operation = row.operation(call) if callable(row.operation) else row.operation
    handler, on_reject = row.handler, row.on_reject
    instead = (lambda: on_reject(call, node)) if on_reject else None
    return _faulted(sim, node.platform, operation, node.account_id, lambda: handler(call, node), instead)


def _faulted(
    sim: Simulation,
    platform: str,
    operation: str | None,
    account_id: str | None,
    act: Callable[[], dict[str, Any]],
    on_reject: Callable[[], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    mode = sim.faults.take(platform, operation, account_id) if operation else None
    if mode is None or operation is None:
        return act()
    if mode == "reject" and on_reject:
        return on_reject()
    g.used_up = mode == "rate_limit"
    return sim.faults.play(mode, lambda refused: errors.refusal(refused, platform, operation), act)


def _parameters() -> dict[str, Any]:
    params: dict[str, Any] = request.args.to_dict()
    params.update(request.form.to_dict())
    if request.is_json:
        body = request.get_json(silent=True)
        if not isinstance(body, dict):
            raise errors.invalid("The body is not a JSON object")
        params.update(body)
    return params


def _answer(body: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(body), status, content_type="application/json; charset=UTF-8")
