"""The web application: control routes, sample media and the blueprints of the platforms' modules."""

from importlib import import_module

from flask import Flask, Response, request

from simulator import control, trickle
from simulator.connection import ConnectionDropped
from simulator.oauth import control as oauth_control
from simulator.platforms import PLATFORMS
from simulator.samples.routes import media
from simulator.simulation import Simulation

#: Longest text field of a form in bytes: a Facebook message has up to 63,206 characters.
_FORM_TEXT_BYTES = 8 << 20
#: Beginnings of the paths that take uploads without a token.
_UPLOAD_HOSTS = {"video": "TT", "dms-uploads": "LN"}


def create_app(sim: Simulation) -> Flask:
    """An application around one simulation."""
    app = Flask("simulator", static_folder=None)
    app.config["MAX_FORM_MEMORY_SIZE"] = _FORM_TEXT_BYTES
    app.extensions["simulation"] = sim
    app.register_blueprint(control.blueprint(sim))
    app.register_blueprint(media)
    app.register_blueprint(oauth_control.blueprint(sim))
    for module in dict.fromkeys(name for row in PLATFORMS.values() for name in row.modules):
        app.register_blueprint(import_module(module).blueprint(sim))
    app.before_request(lambda: _read_slowly(sim))
    app.after_request(trickle.after_request)
    app.register_error_handler(ConnectionDropped, _say_nothing)
    return app


def _read_slowly(sim: Simulation) -> None:
    """Finds the account by the token, or by the address of an upload that needs no token."""
    holder = sim.accounts.holder(request.headers.get("Authorization", "").partition(" ")[2])
    platform = holder.platform if holder else _UPLOAD_HOSTS.get(request.path.split("/")[1])
    if platform is not None:
        sim.faults.read_slowly(platform, holder.account_id if holder else None)


def _say_nothing(problem: Exception) -> Response:
    """The socket is shut down already, so that this response is never sent."""
    return Response(status=500)
