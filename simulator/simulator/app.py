"""Builds the simulator's Flask applications: one for the control API, the sample media, the AI providers and Stripe,
and one for each platform's host names.
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

#: Longest text field of a form in bytes. Our choice, far above the 63,206 characters of a Facebook message.
_FORM_TEXT_BYTES = 8 << 20


def create_app(sim: Simulation) -> Flask:
    """Returns the main application of a simulator. Calls to a host of a platform reach that platform's application."""
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
    """Makes the application read the request's body slowly, if a test has planned a fault that demands this.

    If the request has a valid token, the fault must be planned for the token's account, or for all accounts of its
    platform. Without one, it must be planned for all accounts of `platform`.
    """
    holder = sim.accounts.holder(request.headers.get("Authorization", "").partition(" ")[2])
    if holder is not None or platform is not None:
        code = holder.platform if holder else str(platform)
        sim.faults.read_slowly(code, holder.account_id if holder else None)


def _not_here(problem: Exception) -> tuple[Response, int]:
    """Answers 404 to a call that names no host of a platform and no path of the control API."""
    return jsonify(error="Put the platform's host before the path, as in /graph.facebook.com/v26.0/me"), 404


def _say_nothing(problem: Exception) -> Response:
    """Returns the response that Flask requires after a dropped connection. It is never sent: the socket is already
    shut down.
    """
    return Response(status=500)
