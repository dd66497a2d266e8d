"""The login page of a platform: logs a person in, asks for consent and redirects back to our app.

A browser (`Accept: text/html`) gets a page with the requested scopes and two buttons. Any other client is redirected
at once: with consent, or without it if the URL has `sim_deny=1`. A person who was created with `denies` never
consents.
"""

import re
from collections.abc import Callable
from html import escape
from urllib.parse import urlencode, urlsplit

from flask import Response, redirect, request

from simulator.oauth.grants import Code, Grants, Person
from simulator.platforms import PLATFORMS
from simulator.simulation import Simulation

#: Lifetime of an authorization code in seconds; that of X is shorter.
_CODE_SECONDS = 600.0
_CALLBACK = re.compile(r"/connect/[a-z]+/callback")
_BAD_SCOPE = {"error": "invalid_scope", "error_description": "The app may not ask for these scopes"}
_ANSWERS = {"sim_allow", "sim_deny"}
_CONSENT = """\
<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Log in to {platform} (simulated)</title>
<style>body{{font:1.1rem/1.5 sans-serif;max-width:34rem;margin:12vh auto;padding:0 1rem}}
button{{font:inherit;padding:.4rem 1rem;margin-right:.5rem}}</style>
<h1>{platform}</h1><p>The app <b>{app}</b> asks {person} for:</p><ul>{scopes}</ul>
<form>{fields}<button name="sim_allow" value="1">Continue as {person}</button>
<button name="sim_deny" value="1">Cancel</button></form></html>"""


def answer(
    sim: Simulation,
    platform: str,
    *,
    client_id: str,
    separator: str = " ",
    id_field: str = "client_id",
    known_scopes: tuple[str, ...],
    challenge: re.Pattern[str] | None = None,
    methods: tuple[str, ...] = ("S256",),
    is_pkce_needed: bool = False,
    denial: dict[str, str] | None = None,
    code_seconds: float = _CODE_SECONDS,
    is_offline: Callable[[Person], bool] = lambda person: True,
    bad_scope: Callable[[str], dict[str, str]] = lambda scope: _BAD_SCOPE,
) -> Response:
    """Answers a request for a platform's login page: with the page, or with a redirect that brings a code or an error
    to our app. A request with an unknown client id or redirect URI gets an error page and no redirect (RFC 6749
    4.1.2.1).

    The keywords describe the platform. `known_scopes` are the scopes that the app may ask for, and `separator` stands
    between them in the request. `challenge` and `methods` are the forms of PKCE that the platform accepts. `denial` is
    its error if the person refuses, and `bad_scope` returns its error for an unknown scope. `is_offline` tells whether
    the person's login also gives a refresh token.
    """
    asked, target = request.args, request.args.get("redirect_uri", "")
    if asked.get(id_field) != client_id:
        return _told("Unknown app: the client id is not registered.")
    if urlsplit(target).scheme not in ("http", "https") or not _CALLBACK.fullmatch(urlsplit(target).path):
        return _told("The redirect_uri is not registered for this app.")
    state = asked.get("state", "")

    def back(**words: str) -> Response:
        return redirect(f"{target}?{urlencode(words | {'state': state})}", 302)  # type: ignore[return-value]

    if asked.get("response_type") != "code" or not state:
        return back(error="invalid_request", error_description="response_type and state are needed")
    scopes = tuple(filter(None, re.split(f"[{separator}]", asked.get("scope", ""))))
    unknown = [scope for scope in scopes if scope not in known_scopes]
    if not scopes or unknown:
        return back(**bad_scope("".join(unknown[:1])))
    proof = asked.get("code_challenge", "")
    if proof or is_pkce_needed:
        fits = challenge is not None and challenge.fullmatch(proof)
        if not fits or asked.get("code_challenge_method") not in methods:
            return back(error="invalid_request", error_description="The code_challenge is not valid")
    person = _person(sim.grants, platform)
    if "text/html" in request.headers.get("Accept", "") and not _ANSWERS & {*asked}:
        return _consent(person, client_id, scopes)
    if person.denies or asked.get("sim_deny"):
        return back(
            **(denial or {"error": "access_denied", "error_description": "The user denied the request"})
        )
    code = Code(
        person=person,
        client_id=client_id,
        redirect_uri=target,
        challenge=proof,
        scopes=tuple(scope for scope in scopes if scope not in person.withholds),
        expires_at=sim.clock.now().timestamp() + code_seconds,
        is_offline=is_offline(person),
    )
    return back(code=sim.grants.code(code))


def _person(grants: Grants, platform: str) -> Person:
    person_id = request.args.get("sim_person") or request.cookies.get("sim_person")
    return grants.find(person_id, platform)


def _consent(person: Person, client_id: str, scopes: tuple[str, ...]) -> Response:
    """Returns the consent page, whose buttons lead to the same URL with the person's answer added."""
    kept = {**request.args.to_dict(), "sim_person": person.person_id}
    fields = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in kept.items()
    )
    page = _CONSENT.format(
        platform=PLATFORMS[person.platform].name,
        app=escape(client_id),
        person=escape(person.name),
        scopes="".join(f"<li>{escape(scope)}</li>" for scope in scopes),
        fields=fields,
    )
    return Response(page, content_type="text/html; charset=utf-8")


def _told(text: str) -> Response:
    return Response(f"<!DOCTYPE html><title>Sorry</title><p>{text}</p>", 400, content_type="text/html")
