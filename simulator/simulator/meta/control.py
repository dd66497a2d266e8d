"""The control API's routes (/_sim) for Meta's webhooks: they set the endpoint and list the deliveries."""

from flask import Blueprint, Response, jsonify, request

from simulator.meta.hooks import Hooks
from simulator.simulation import Simulation


def blueprint(hooks: Hooks, sim: Simulation) -> Blueprint:
    """Returns the control API's routes for Meta's webhooks."""
    control = Blueprint("meta-control", __name__)

    @control.get("/_sim/meta/webhooks")
    def show_webhooks() -> Response:
        """Lists the accounts to which our app has subscribed, and the batches of events about their comments."""
        return jsonify(
            subscribed=sorted(sim.subscriptions),
            webhooks=[
                {"platform": row.platform, "comments": row.comment_ids, "tries": row.tries,
                 "status": row.status, "delivered": row.delivered}
                for row in hooks.rows()
            ],
        )  # fmt: skip

    @control.post("/_sim/meta/webhook")
    def set_endpoint() -> tuple[Response, int] | Response:
        """Takes {url, secret?, verify_token?} and sets the webhook endpoint (`/facebook` or `/instagram` is added to
        the URL). With an empty URL no webhook is sent.
        """
        body = request.get_json(force=True, silent=True)
        given = body if isinstance(body, dict) else {}
        names = ("url", "secret", "verify_token")
        if not isinstance(given.get("url"), str) or not all(
            isinstance(given.get(name, ""), str) for name in names
        ):
            return jsonify(error="url (secret and verify_token) have to be text"), 400
        hooks.aim(given["url"], given.get("secret"), given.get("verify_token"))
        return jsonify(url=hooks.url, secret=hooks.secret, verify_token=hooks.verify_token)

    return control
