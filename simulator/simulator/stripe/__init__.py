"""The Stripe API (v1, form encoded): payments without the owner present, queries for them, signed webhooks."""

from flask import Blueprint

from simulator.hosts import HERE, Hosts
from simulator.simulation import Simulation
from simulator.stripe import routes
from simulator.stripe.control import add_control
from simulator.stripe.ledger import Ledger
from simulator.stripe.webhooks import Webhooks


def hosts(sim: Simulation) -> Hosts:
    """Returns the routes of the simulated Stripe; they answer under any host name that leads to the simulator."""
    return {HERE: (blueprint(sim),)}


def blueprint(sim: Simulation) -> Blueprint:
    """Returns Stripe's routes for this simulator, and those of the control API for payments."""
    ledger, webhooks = Ledger(sim.clock), Webhooks(sim)
    sim.on_reset += [ledger.clear, webhooks.clear]
    stripe = Blueprint("stripe", __name__)
    stripe.register_blueprint(routes.blueprint(sim, ledger, webhooks))
    add_control(stripe, sim, ledger, webhooks)
    return stripe
