"""The dashboard when somebody tries too often to sign in or to have a mail sent: the API's limits hold here too."""

import re
from typing import Any

import requests
from e2e_kit.accessibility import flaws

#: Wrong passwords for one account from one network, and mails with a reset link to one address, in a day.
GUESSES, MAILS = 20, 5
#: These limits end with the day.
TOO_MANY = re.compile(r"Too many tries\. Wait \d+ (hours|minutes?), then try again\.")


class Guesser:
    """A program that sends the forms of the dashboard. Each time it claims to have another address."""

    def __init__(self, url: str) -> None:
        self._url, self._http, self._tries = url, requests.Session(), 0

    def send(self, path: str, **fields: str) -> int:
        """Sends a form, and returns the status of the answer."""
        self._tries += 1
        address = f"203.0.113.{self._tries}"
        found = re.search(
            r'name="form_token" value="(\w+)"', self._http.get(self._url + path, timeout=30).text
        )
        assert found
        return self._http.post(
            self._url + path,
            data={"form_token": found[1], **fields},
            headers={"X-Forwarded-For": address, "X-Real-IP": address, "Forwarded": f"for={address}"},
            allow_redirects=False,
            timeout=30,
        ).status_code


def test_guesses_are_refused_after_twenty_whatever_address_their_sender_claims_to_have(stranger: Any) -> None:
    window, email = stranger.window, stranger.account.email
    guesser = Guesser(stranger.url)
    guesses = [
        guesser.send("/sign-in", email=email, password=f"guess {number}") for number in range(GUESSES + 2)
    ]
    assert guesses == [401] * GUESSES + [429] * 2
    stranger.open("/sign-in")
    stranger.sign_in()  # with the right password
    assert TOO_MANY.fullmatch(window.text("[role=alert]"))
    assert window.run("return document.querySelector('#email').value") == email
    assert flaws(window) == []


def test_mails_with_a_reset_link_are_sent_five_times_and_then_the_form_says_so(stranger: Any) -> None:
    window, email = stranger.window, stranger.account.email
    guesser = Guesser(stranger.url)
    assert [guesser.send("/sign-in/forgot", email=email) for _ in range(MAILS)] == [200] * MAILS
    stranger.open("/sign-in/forgot")
    window.type("#email", email)
    window.press("form button")
    assert window.run("return document.querySelector('#email').value") == email
    assert TOO_MANY.fullmatch(window.text("[role=alert]"))
    assert flaws(window) == []
