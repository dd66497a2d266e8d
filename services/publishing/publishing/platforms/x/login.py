"""X's login: PKCE (S256), Basic authentication, refresh tokens that work once (platforms.md 6)."""

from publishing.platforms.base import Account
from publishing.platforms.oauth import forms
from publishing.platforms.oauth.base import Found, Login, Tokens
from publishing.platforms.wire import transient
from publishing.platforms.x.calls import Calls
from publishing.platforms.x.connector import XConnector
from publishing.platforms.x.settings import XSettings

#: X's own words for a refresh token that is over (platforms.md 6); other invalid requests are our own mistakes.
_DEAD = forms.DEAD | {("invalid_request", "Value passed for the token was invalid.")}


class XLogin(Login):
    scopes = ("tweet.read", "tweet.write", "users.read", "media.write", "offline.access")

    def __init__(self, settings: XSettings) -> None:
        self._app = settings.app
        self._dialog = f"{settings.authorize_url.rstrip('/')}/i/oauth2/authorize"
        self._base = f"{settings.api_url.rstrip('/')}/2/oauth2"
        self._calls, self._connector = Calls(settings), XConnector(settings)
        self._wire = forms.wire()

    def authorize_url(self, state: str, redirect_uri: str, verifier: str) -> str:
        return forms.with_query(
            self._dialog,
            response_type="code",
            client_id=self._app.client_id,
            redirect_uri=redirect_uri,
            scope=" ".join(self.scopes),
            state=state,
            code_challenge=forms.s256(verifier),
            code_challenge_method="S256",
        )

    def exchange(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        return self._ask(
            grant_type="authorization_code", code=code, redirect_uri=redirect_uri, code_verifier=verifier
        )

    def refresh(self, refresh_token: str) -> Tokens:
        return self._ask(grant_type="refresh_token", refresh_token=refresh_token)

    def accounts(self, tokens: Tokens) -> list[Found]:
        account = Account("", tokens.access_token)
        user_id = (self._calls.read(account, "users/me").get("data") or {}).get("id")
        if not user_id:
            raise transient("NO_ID", "The platform's answer names no account.")
        return [Found(str(user_id), self._connector.profile(account), tokens, f"x:{user_id}")]

    def revoke(self, tokens: Tokens) -> bool:
        form = {"token": tokens.refresh_token or tokens.access_token}
        self._post("revoke", form)
        return True

    def _ask(self, **form: str) -> Tokens:
        return forms.tokens_in(self._post("token", form))

    def _post(self, path: str, form: dict[str, str]) -> forms.Answer:
        """A confidential client signs with Basic authentication, a public one names itself in the form."""
        if self._app.client_secret:
            headers = forms.basic(self._app.client_id, self._app.client_secret)
        else:
            headers, form = {}, form | {"client_id": self._app.client_id}
        return forms.post(self._wire, f"{self._base}/{path}", form, headers=headers, dead=_DEAD)
