"""X's login. It uses PKCE, Basic authentication, and refresh tokens that work once (docs/platforms.md, section 6)."""

from publishing.platforms.base import Account
from publishing.platforms.http_client import required
from publishing.platforms.oauth import forms
from publishing.platforms.oauth.base import Found, Tokens
from publishing.platforms.oauth.code_login import CodeLogin
from publishing.platforms.x.connector import XConnector
from publishing.platforms.x.settings import XSettings


class XLogin(CodeLogin):
    scopes = ("tweet.read", "tweet.write", "users.read", "media.write", "offline.access")
    #: X's error for a dead refresh token (platforms.md 6). Other invalid requests are mistakes of ours.
    dead = forms.DEAD | {("invalid_request", "Value passed for the token was invalid.")}

    def __init__(self, settings: XSettings) -> None:
        base = f"{settings.api_url.rstrip('/')}/2/oauth2"
        dialog = f"{settings.authorize_url.rstrip('/')}/i/oauth2/authorize"
        super().__init__(settings.app, dialog, f"{base}/token", f"{base}/revoke")
        self._connector = XConnector(settings)

    def accounts(self, tokens: Tokens) -> list[Found]:
        account = Account("", tokens.access_token)
        user_id = required(self._connector.user(account), "id")
        return [Found(user_id, self._connector.profile(account), tokens, f"x:{user_id}")]

    def client_headers(self) -> dict[str, str]:
        """Returns the header of Basic authentication. Without a secret of the app, returns no headers."""
        return forms.basic(self._app.client_id, self._app.client_secret) if self._app.client_secret else {}

    def client_form(self) -> dict[str, str]:
        """Returns the app's client id as a form field. With a secret of the app, returns no fields."""
        return {} if self._app.client_secret else {"client_id": self._app.client_id}
