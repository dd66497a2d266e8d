"""Google's login for YouTube: the channel somebody chose while logging in (platforms.md 7)."""

from publishing.platforms.base import Account
from publishing.platforms.oauth import forms
from publishing.platforms.oauth.base import Found, Login, Tokens
from publishing.platforms.youtube.calls import DataApi, items_of
from publishing.platforms.youtube.connector import YouTubeConnector
from publishing.platforms.youtube.settings import YouTubeSettings

_SCOPE = "https://www.googleapis.com/auth/"


class YouTubeLogin(Login):
    scopes = (f"{_SCOPE}youtube.upload", f"{_SCOPE}youtube.readonly", f"{_SCOPE}youtube.force-ssl")

    def __init__(self, settings: YouTubeSettings) -> None:
        self._app = settings.app
        self._dialog = f"{settings.authorize_url.rstrip('/')}/o/oauth2/v2/auth"
        self._base = settings.token_url.rstrip("/")
        self._api, self._connector = DataApi(settings), YouTubeConnector(settings)
        self._wire = forms.wire()

    def authorize_url(self, state: str, redirect_uri: str, verifier: str) -> str:
        return forms.with_query(
            self._dialog,
            response_type="code",
            client_id=self._app.client_id,
            redirect_uri=redirect_uri,
            scope=" ".join(self.scopes),
            state=state,
            # Without access_type and consent there is no refresh token (platforms.md 7). Both prompts show a page even
            # to a person who is logged in and allowed it before (developers.google.com/identity/protocols/oauth2/
            # web-server, "prompt": a list between blanks, read November 2026).
            access_type="offline",
            prompt="consent select_account",
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
        channels = items_of(self._api.read(account, "channels", part="id", mine="true"))
        return [
            Found(str(channel["id"]), self._connector.profile(account), tokens, f"youtube:{channel['id']}")
            for channel in channels[:1]
        ]

    def revoke(self, tokens: Tokens) -> bool:
        forms.post(self._wire, f"{self._base}/revoke", {"token": tokens.refresh_token or tokens.access_token})
        return True

    def _ask(self, **form: str) -> Tokens:
        app = {"client_id": self._app.client_id, "client_secret": self._app.client_secret}
        return forms.tokens_in(forms.post(self._wire, f"{self._base}/token", form | app))
