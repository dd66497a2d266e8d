"""The web applications of the simulator: one for the control API and the sample media, and one for each group of
platform hosts.
"""

from importlib import import_module
from typing import Any

from flask import Flask, Response, jsonify, request

from simulator import control, trickle
from simulator.connection import ConnectionDropped
from simulator.hosts import HERE, HostDispatcher
from simulator.oauth import control as oauth_control
from simulator.platforms import PLATFORMS
from simulator.samples.routes import media
from simulator.simulation import Simulation

#: Longest text field of a form in bytes: a Facebook message has up to 63,206 characters.
_FORM_TEXT_BYTES = 8 << 20


def create_app(sim: Simulation) -> Flask:
    """Creates the application of one simulator. It passes calls to a platform's host on to the application of that
    host.
    """
    app = _application(sim)
    app.extensions["simulation"] = sim
    app.register_blueprint(control.blueprint(sim))
    app.register_blueprint(media)
    app.register_blueprint(oauth_control.blueprint(sim))
    app.register_error_handler(404, _not_here)
    parts: dict[str, Any] = {}
    for module, code in {row.module: row.code for row in reversed(PLATFORMS.values())}.items():
        for hosts, blueprints in import_module(module).hosts(sim).items():
            part = app if hosts == HERE else _application(sim, code)
            for blueprint in blueprints:
                part.register_blueprint(blueprint)
            parts |= dict.fromkeys(hosts, part.wsgi_app)
    app.wsgi_app = HostDispatcher(app.wsgi_app, parts)  # type: ignore[method-assign]
    return app


def _application(sim: Simulation, platform: str | None = None) -> Flask:
    app = Flask("simulator", static_folder=None)
    app.config["MAX_FORM_MEMORY_SIZE"] = _FORM_TEXT_BYTES
    app.before_request(lambda: _read_slowly(sim, platform))
    app.after_request(trickle.after_request)
    app.register_error_handler(ConnectionDropped, _say_nothing)
    return app


def _read_slowly(sim: Simulation, platform: str | None) -> None:
    """Slows down the reading of the request's body if a fault is planned for that.

    The fault is looked up for the account of the token, or for the host's platform if the request has no token.
    """
    holder = sim.accounts.holder(request.headers.get("Authorization", "").partition(" ")[2])
    if holder is not None or platform is not None:
        code = holder.platform if holder else str(platform)
        sim.faults.read_slowly(code, holder.account_id if holder else None)


def _not_here(problem: Exception) -> tuple[Response, int]:
    """Answers a call that does not name a platform's host."""
    return jsonify(error="Put the platform's host before the path, as in /graph.facebook.com/v26.0/me"), 404


def _say_nothing(problem: Exception) -> Response:
    """Returns a response that is never sent, because the socket is shut down already."""
    return Response(status=500)
