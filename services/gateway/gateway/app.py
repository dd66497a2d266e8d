"""The Flask application: a route for each endpoint, health checks, and answers turned into HTTP."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import structlog
from flask import Flask, Response
from werkzeug.exceptions import BadRequest, HTTPException, InternalServerError, MethodNotAllowed, NotFound
from werkzeug.routing import Map, RequestRedirect, Rule

from chassis.telemetry import tracing
from contracts.errors import METHOD_NOT_ALLOWED, NOT_FOUND, SERVER_ERROR, ApiError, invalid
from gateway import BASE_PATH, pipeline
from gateway.endpoint import Endpoint
from gateway.exchange import Exchange, request_id_of
from gateway.http.answers import Answer, encode, refusal
from gateway.http.body import discard_rest
from gateway.mcp import server as mcp
from gateway.openapi.description import describe
from gateway.reference.pages import Reference
from gateway.routes import ENDPOINTS
from gateway.services import Services

log = structlog.get_logger()

#: Everything that has a path. MCP's only operation is not described in OpenAPI.
_ROUTES = (*ENDPOINTS, mcp.handle)

Environ = dict[str, Any]
#: Takes the WSGI environment and the values in the path.
View = Callable[..., Response]


class App(Flask):
    """A Flask application that calls its views with the WSGI environment, without contexts, signals and sessions.

    The gateway uses none of the three, and they cost as much as all the rest of Flask. `flask.request` raises an error.
    """

    def wsgi_app(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        try:
            name, path_values = self.url_map.bind_to_environ(environ).match()
            view: Any = self.view_functions[name]
            response = view(environ, **path_values)
        except RequestRedirect as redirect:
            response = redirect.get_response(environ)
        except HTTPException as error:
            response = _refuse(environ, error)
        except Exception:
            log.exception("unhandled", path=environ.get("PATH_INFO"))
            response = _refuse(environ, InternalServerError())
        answer: Iterable[bytes] = response(environ, start_response)
        return answer


def create_app(services: Services) -> Flask:
    """Makes the Flask application of a process, and the OpenAPI description of its endpoints."""
    services.description = _description(services.config.public_url, services.config.idempotency_key_required)
    app = App(__name__, static_folder=None)
    app.url_map = _url_map()
    views: dict[str, Any] = {_name(endpoint): _view(services, endpoint) for endpoint in _ROUTES}
    app.view_functions = views | {"OPTIONS": _options, "/healthz": _healthz, "/readyz": _readyz(services)}
    app.view_functions["/docs"] = _docs(Reference(services.description, app.jinja_env))
    return app


@cache
def _description(public_url: str, key_required: bool) -> dict[str, Any]:
    """Makes the OpenAPI description. Called once, at start, because it takes a tenth of a second."""
    return describe(ENDPOINTS, public_url=public_url, key_required=key_required)


@cache
def _url_map() -> Map:
    """Returns the routing table of all endpoints, made once: that takes 40 ms, and tests make many applications."""
    rules = [
        Rule(path, endpoint=_name(endpoint), methods=[endpoint.method])
        for endpoint in _ROUTES
        for path in paths_of(endpoint)
    ]
    methods: dict[str, set[str]] = {}
    for rule in rules:
        methods.setdefault(rule.rule, {"OPTIONS"}).update(rule.methods or ())
    rules += [
        Rule(path, endpoint="OPTIONS", methods=["OPTIONS"], defaults={"allow": ", ".join(sorted(allowed))})
        for path, allowed in methods.items()
    ]
    rules += [Rule(path, endpoint=path, methods=["GET"]) for path in ("/healthz", "/readyz")]
    rules += [
        Rule(path, endpoint="/docs", methods=["GET"])
        for path in ("/docs", "/docs/<name>", "/docs/guides/<name>", "/llms.txt")
    ]
    # An unknown path is a 404, not a redirect.
    return Map(rules, merge_slashes=False, redirect_defaults=False)


def _name(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def paths_of(endpoint: Endpoint) -> tuple[str, ...]:
    """Returns the paths of an endpoint; the root answers with and without its slash."""
    if endpoint.outside:
        return (endpoint.rule,)
    return (f"{BASE_PATH}/", BASE_PATH) if endpoint.path == "/" else (BASE_PATH + endpoint.rule,)


def _options(environ: Environ, allow: str, **_path_values: str) -> Response:
    """Answers OPTIONS requests with the methods that the path allows."""
    return _response(Answer(204, b"", {"Allow": allow}), request_id_of(environ))


def _view(services: Services, endpoint: Endpoint) -> View:
    route = endpoint.path if endpoint.outside else BASE_PATH + endpoint.path

    def view(environ: Environ, **path_values: str) -> Response:
        exchange = Exchange(services, endpoint, environ, path_values)
        cause = environ.get("HTTP_TRACEPARENT", "")
        with tracing.request(endpoint.method, route, cause, exchange.request_id) as traced:
            answer = pipeline.run(exchange)
            traced.answered(answer.status, exchange.caller)
            _log(exchange, answer)
        response = _response(answer, exchange.request_id, _identity_headers(exchange))
        if endpoint.streams:
            response.call_on_close(partial(discard_rest, environ))
        return response

    return view


def _log(exchange: Exchange, answer: Answer) -> None:
    """Logs a request. Successful reads are logged only at level debug, because a line costs a tenth of a read's
    time."""
    write_line = log.info if exchange.is_write or answer.status >= 400 else log.debug
    endpoint, token = exchange.endpoint, exchange.authenticated and exchange.authenticated.token.id
    write_line(
        "request",
        request_id=exchange.request_id,
        method=endpoint.method,
        path=endpoint.path,
        status=answer.status,
        token_id=token,
    )


def _identity_headers(exchange: Exchange) -> list[tuple[str, str]]:
    """Returns the headers X-API-Tier and X-API-Scopes, if the token was found, and the three headers
    X-RateLimit-…, if the service `quota` has answered (docs/spec.md, "Authentication")."""
    headers: list[tuple[str, str]] = []
    if exchange.authenticated is not None:
        caller, token = exchange.authenticated.caller, exchange.authenticated.token
        headers += (
            ("X-API-Tier", "sandbox" if caller.sandbox else caller.tier),
            ("X-API-Scopes", " ".join(token.scopes)),
        )
    if exchange.admitted is not None:
        window = exchange.admitted.window
        headers += (
            ("X-RateLimit-Limit", str(window.limit)),
            ("X-RateLimit-Remaining", str(window.remaining)),
            ("X-RateLimit-Reset", str(int(window.resets_at.timestamp()))),
        )
    return headers


def _response(answer: Answer, request_id: str, more: list[tuple[str, str]] | None = None) -> Response:
    headers = [*answer.http_headers(request_id).items(), *(more or ())]
    return Response(answer.body, answer.status, headers, content_type=answer.content_type)


def _refuse(environ: Environ, error: HTTPException) -> Response:
    """Answers a request that matches no endpoint (an invalid host, an unknown path, a wrong method), or that failed
    unexpectedly."""
    request_id = request_id_of(environ)
    if isinstance(error, MethodNotAllowed):
        answer = refusal(ApiError(METHOD_NOT_ALLOWED), request_id)
        answer.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
        return _response(answer, request_id)
    if isinstance(error, BadRequest):
        return _response(
            refusal(invalid("request", "The Host header is not a valid host"), request_id), request_id
        )
    row = NOT_FOUND if isinstance(error, NotFound) else SERVER_ERROR
    return _response(refusal(ApiError(row), request_id), request_id)


def _healthz(environ: Environ) -> Response:
    return _response(Answer(200, encode({"status": "ok"})), request_id_of(environ))


def _readyz(services: Services) -> View:
    def readyz(environ: Environ) -> Response:
        status, word = (200, "ready") if services.readiness.is_ready() else (503, "unready")
        return _response(Answer(status, encode({"status": word})), request_id_of(environ))

    return readyz


def _docs(reference: Reference) -> View:
    def docs(environ: Environ, **_path_values: str) -> Response:
        answer = reference.answer(environ.get("PATH_INFO", ""), environ.get("HTTP_IF_NONE_MATCH"))
        if answer is None:
            raise NotFound
        return _response(answer, request_id_of(environ))

    return docs
