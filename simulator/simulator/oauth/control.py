"""The control API's routes (/_sim) for people who can log in at a platform, and for their tokens."""

from typing import Any

from flask import Blueprint, Response, jsonify, request

from simulator.oauth.grants import Person
from simulator.simulation import Simulation


def blueprint(sim: Simulation) -> Blueprint:
    """Returns the control API's routes for people, which use the state in `sim`."""
    people = Blueprint("people", __name__, url_prefix="/_sim")

    @people.post("/persons")
    def add_person() -> tuple[Response, int]:
        """Takes {platform, accounts, business_pages, name, denies, withholds} and adds a person who can log in.
        `accounts` and `business_pages` say how many the person gets. With `denies`, the person refuses consent at every
        login. `withholds` lists scopes that the person does not grant. People of Facebook can also log in to Instagram.
        """
        body = request.get_json(force=True, silent=True) or {}
        platform = "FB" if body.get("platform") == "IG" else str(body.get("platform"))
        person = sim.grants.person(
            platform,
            int(body.get("accounts", 1)),
            int(body.get("business_pages", 0)),
            str(body.get("name") or ""),
            denies=bool(body.get("denies")),
            withholds=tuple(map(str, body.get("withholds") or ())),
        )
        return jsonify(_shown(person)), 201

    @people.post("/persons/<person_id>/leave")
    def leave(person_id: str) -> Response:
        """Revokes all tokens of the person, as if the person removed our app."""
        person = sim.grants.known(person_id)
        if person is None:
            return Response(status=404)
        sim.grants.leave(person)
        return jsonify(_shown(person))

    @people.get("/oauth")
    def show() -> Response:
        """Answers with the number of token refreshes by account, and the accounts for which a token was revoked."""
        return jsonify(refreshed=dict(sim.grants.refreshed), revoked=list(sim.grants.revoked))

    return people


def _shown(person: Person) -> dict[str, Any]:
    accounts = [
        {"platform": one.platform, "account_id": one.account_id, "name": one.name, "username": one.username}
        for one in (*person.accounts, *person.business)
    ]
    return {
        "person_id": person.person_id,
        "platform": person.platform,
        "name": person.name,
        "accounts": accounts,
    }
