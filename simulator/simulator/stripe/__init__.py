"""The simulated Stripe API (v1, form encoded): payments, queries for them, and signed webhooks."""

from flask import Blueprint

from simulator.hosts import HERE, Hosts
from simulator.simulation import Simulation
from simulator.stripe import routes
from simulator.stripe.control import add_control
from simulator.stripe.ledger import Ledger
from simulator.stripe.webhooks import Webhooks


def hosts(sim: Simulation) -> Hosts:
    """Returns the routes of the simulated Stripe API. They answer on every host that is no social platform's."""
    return {HERE: (blueprint(sim),)}


def blueprint(sim: Simulation) -> Blueprint:
    """Returns the routes of the simulated Stripe API, and the control API's routes for payments."""
    ledger, webhooks = Ledger(sim.clock), Webhooks(sim)
    sim.on_reset += [ledger.clear, webhooks.clear]
    stripe = Blueprint("stripe", __name__)
    stripe.register_blueprint(routes.blueprint(sim, ledger, webhooks))
    add_control(stripe, sim, ledger, webhooks)
    return stripe
