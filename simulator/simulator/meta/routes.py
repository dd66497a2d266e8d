"""The Graph API's routes. The path of a call names a node and perhaps an edge; the table EDGES names the handlers."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, g, request

from simulator.hosts import HERE, Hosts
from simulator.meta import (
    callers,
    control,
    errors,
    facebook,
    hooks,
    instagram,
    permissions,
    resumable,
    tokens,
    versions,
)
from simulator.meta.call import Call, Edges, Node
from simulator.meta.errors import GraphError
from simulator.simulation import Simulation

EDGES: Edges = {**facebook.EDGES, **instagram.EDGES, **hooks.EDGES, **tokens.EDGES, **resumable.EDGES}

#: The highest usage that is reported without a fault. Our choice: load tests exceed a page's real limit.
_HIGHEST_USAGE_PERCENT = 60
#: Calls that a page may make in 24 hours for each engaged user; the simulator assumes one user (platforms.md 1).
_CALLS_ALLOWED = 4800
_APP_USAGE = '{"call_count":%d,"total_cputime":%d,"total_time":%d}'
_ACCOUNT_USAGE = (
    '{"%s":[{"type":"%s","call_count":%d,"total_cputime":%d,"total_time":%d,'
    '"estimated_time_to_regain_access":%d}]}'
)


def hosts(sim: Simulation) -> Hosts:
    """Returns Meta's routes by host. The host for videos has the same routes as graph.facebook.com
    (docs/platforms/facebook.md).
    """
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

    @login.get("/dialog/oauth")
    @login.get("/<version>/dialog/oauth")
    def log_in(version: str = versions.NEWEST) -> Response:
        return tokens.log_in(sim) if versions.of(version) else Response(status=404)

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
        response.headers["facebook-api-version"] = sim.told(
            "graph_version", g.get("version", versions.OLDEST)
        )
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

    @graph.route("/", methods=["GET", "POST", "DELETE"])
    @graph.route("/<path:path>", methods=["GET", "POST", "DELETE"])
    def on_path(path: str = "") -> Response:
        """Answers a call to `/version/node/edge`. Version and edge may be missing; a slash at the end is ignored."""
        g.version, parts = versions.split(path)
        if parts == ["oauth", "access_token"]:
            return _answer(_faulted(sim, "FB", "token", None, lambda: tokens.exchange(sim, _parameters())))
        if parts == ["debug_token"]:
            return _answer(_debug(sim, _parameters()))
        if not 1 <= len(parts) <= 2:
            raise GraphError(2500, f"Unknown path components: /{'/'.join(parts[1:])}")
        return _answer(_run(sim, parts[0], "".join(parts[1:])))

    return graph


def _debug(sim: Simulation, params: dict[str, Any]) -> dict[str, Any]:
    holder = sim.accounts.holder(params.get("input_token", ""))
    platform = "IG" if holder and holder.platform == "IG" else "FB"
    account_id = holder.account_id if holder else None
    return _faulted(sim, platform, "token", account_id, lambda: tokens.debug(sim, params))


def _run(sim: Simulation, node_id: str, edge: str) -> dict[str, Any]:
    params = _parameters()
    token = str(params.get("access_token", "")) or request.headers.get("Authorization", "").partition(" ")[2]
    caller = callers.caller_of(sim, token, str(params.get("appsecret_proof", "")))
    node = callers.find_node(sim, caller, node_id)
    row = EDGES.get((request.method, node.kind, edge)) if node else None
    if node is None or row is None:
        raise errors.missing(node_id, request.method)
    is_upload = node.kind in ("App", "Upload")
    if caller.platform == callers.USER.platform and request.method != "GET" and not is_upload:
        raise GraphError(200, "(#200) This endpoint requires a page access token")
    g.node = node
    scopes = sim.accounts.facts(token).get("scopes")
    allowed = None if scopes is None else frozenset(scopes)
    files = {} if _is_file() else request.files
    urls = request.base_url, request.host_url
    call = Call(sim, caller, allowed, params, request.args.to_dict(), files, *urls)
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
    """Returns the parameters of the query, the form and the JSON body in one dict. If the body is a file, returns only
    those of the query.
    """
    params: dict[str, Any] = request.args.to_dict()
    if _is_file():
        return params
    params.update(request.form.to_dict())
    if request.is_json:
        body = request.get_json(silent=True)
        if not isinstance(body, dict):
            raise errors.invalid("The body is not a JSON object")
        params.update(body)
    return params


def _is_file() -> bool:
    return "/upload:" in request.path


def _answer(body: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(body), status, content_type="application/json; charset=UTF-8")
