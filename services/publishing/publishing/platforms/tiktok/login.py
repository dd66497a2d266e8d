"""TikTok's login: `client_key`, scopes between commas, PKCE in hex, errors inside HTTP 200 (platforms.md 5)."""

from urllib.parse import unquote

from publishing.platforms.base import Account
from publishing.platforms.oauth import forms
from publishing.platforms.oauth.base import Found, Login, Tokens
from publishing.platforms.tiktok.calls import PostingApi, named
from publishing.platforms.tiktok.connector import TikTokConnector
from publishing.platforms.tiktok.settings import TikTokSettings


class TikTokLogin(Login):
    scopes = ("user.info.basic", "user.info.profile", "user.info.stats", "video.list", "video.publish")

    def __init__(self, settings: TikTokSettings) -> None:
        self._app = settings.app
        self._dialog = f"{settings.authorize_url.rstrip('/')}/v2/auth/authorize/"
        self._base = f"{settings.api_url.rstrip('/')}/v2/oauth"
        self._api, self._connector = PostingApi(settings), TikTokConnector(settings)
        self._wire = forms.wire()

    def authorize_url(self, state: str, redirect_uri: str, verifier: str) -> str:
        return forms.with_query(
            self._dialog,
            client_key=self._app.client_id,
            scope=",".join(self.scopes),
            response_type="code",
            redirect_uri=redirect_uri,
            state=state,
            code_challenge=forms.s256_hex(verifier),
            code_challenge_method="S256",
            # Shows the page even to a person who allowed it before; without it TikTok may lead them straight through
            # (developers.tiktok.com/doc/login-kit-web, read November 2026).
            disable_auto_auth="1",
        )

    def exchange(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        # It may still be percent-encoded (platforms.md 5).
        return self._ask(
            grant_type="authorization_code",
            code=unquote(code),
            redirect_uri=redirect_uri,
            code_verifier=verifier,
        )

    def refresh(self, refresh_token: str) -> Tokens:
        return self._ask(grant_type="refresh_token", refresh_token=refresh_token)

    def accounts(self, tokens: Tokens) -> list[Found]:
        account = Account("", tokens.access_token)
        open_id = named(self._api.ask(account, "user/info/?fields=open_id").get("user") or {}, "open_id")
        return [Found(open_id, self._connector.profile(account), tokens, f"tiktok:{open_id}")]

    def revoke(self, tokens: Tokens) -> bool:
        forms.post(self._wire, f"{self._base}/revoke/", self._signed(token=tokens.access_token))
        return True

    def _ask(self, **form: str) -> Tokens:
        return forms.tokens_in(forms.post(self._wire, f"{self._base}/token/", self._signed(**form)), ",")

    def _signed(self, **form: str) -> dict[str, str]:
        return form | {"client_key": self._app.client_id, "client_secret": self._app.client_secret}
