"""The authorization code flow of RFC 6749 with refresh tokens, as LinkedIn, TikTok, X and YouTube implement it."""

import base64
import hashlib
from collections.abc import Callable, Collection, Mapping

from publishing.platforms.http_client import Answer
from publishing.platforms.oauth import forms
from publishing.platforms.oauth.base import App, Login, Tokens


def s256(verifier: str) -> str:
    """Returns the PKCE challenge for a verifier (RFC 7636)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode("ascii")).digest()).rstrip(b"=").decode()


class CodeLogin(Login):
    """A login by the authorization code flow.

    A platform's subclass sets an attribute where the platform departs from the standard.
    """

    #: Name of the client id in requests.
    client_id_name = "client_id"
    #: Between the scopes of a request and of an answer.
    separator = " "
    #: Makes PKCE's challenge from the verifier; None: the platform has no PKCE.
    challenge: Callable[[str], str] | None = staticmethod(s256)
    #: Further parameters of the login page.
    dialog: Mapping[str, str] = {}
    #: Errors that end a grant (`forms.post`).
    dead: Collection[tuple[str, str | None]] = forms.DEAD

    def __init__(self, app: App, dialog_url: str, token_url: str, revoke_url: str) -> None:
        self._app = app
        self._dialog_url, self._token_url, self._revoke_url = dialog_url, token_url, revoke_url
        self._http = forms.http_client()

    def authorize_url(self, state: str, redirect_uri: str, verifier: str) -> str:
        query = {
            self.client_id_name: self._app.client_id,
            "response_type": "code",
            "redirect_uri": redirect_uri,
            "scope": self.separator.join(self.scopes),
            "state": state,
            **self.dialog,
        }
        if self.challenge is not None:
            query |= {"code_challenge": self.challenge(verifier), "code_challenge_method": "S256"}
        return forms.with_query(self._dialog_url, **query)

    def exchange(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        return self._ask(form if self.challenge is None else form | {"code_verifier": verifier})

    def refresh(self, refresh_token: str) -> Tokens:
        return self._ask({"grant_type": "refresh_token", "refresh_token": refresh_token})

    def revoke(self, tokens: Tokens) -> bool:
        self._post(self._revoke_url, {"token": self.revoked_token(tokens)})
        return True

    def revoked_token(self, tokens: Tokens) -> str:
        """Returns the token to revoke so that the whole permission ends."""
        return tokens.refresh_token or tokens.access_token

    def client_headers(self) -> dict[str, str]:
        """Returns the headers that authenticate our app."""
        return {}

    def client_form(self) -> dict[str, str]:
        """Returns the form fields that authenticate our app."""
        return {self.client_id_name: self._app.client_id, "client_secret": self._app.client_secret}

    def _ask(self, form: Mapping[str, str]) -> Tokens:
        return forms.tokens_in(self._post(self._token_url, form), self.separator)

    def _post(self, url: str, form: Mapping[str, str]) -> Answer:
        signed = {**form, **self.client_form()}
        return forms.post(self._http, url, signed, headers=self.client_headers(), dead=self.dead)
