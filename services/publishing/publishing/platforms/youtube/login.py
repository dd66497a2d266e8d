"""Google's login for YouTube: finds the channel that the person chose at login (docs/platforms.md, section 7)."""

from publishing.platforms.base import Account
from publishing.platforms.oauth import forms
from publishing.platforms.oauth.base import Found, Tokens
from publishing.platforms.oauth.code_login import CodeLogin
from publishing.platforms.youtube.connector import YouTubeConnector
from publishing.platforms.youtube.settings import YouTubeSettings

_SCOPE = "https://www.googleapis.com/auth/"


class YouTubeLogin(CodeLogin):
    scopes = (f"{_SCOPE}youtube.upload", f"{_SCOPE}youtube.readonly", f"{_SCOPE}youtube.force-ssl")
    #: Without access_type and consent there is no refresh token (platforms.md 7). Both prompts show a page even to a
    #: person who is logged in and allowed the app before (developers.google.com/identity/protocols/oauth2/web-server,
    #: "prompt": a list between blanks, read November 2026).
    dialog = {"access_type": "offline", "prompt": "consent select_account"}

    def __init__(self, settings: YouTubeSettings) -> None:
        base = settings.token_url.rstrip("/")
        dialog = f"{settings.authorize_url.rstrip('/')}/o/oauth2/v2/auth"
        super().__init__(settings.app, dialog, f"{base}/token", f"{base}/revoke")
        self._connector = YouTubeConnector(settings)

    def revoke(self, tokens: Tokens) -> bool:
        """Revokes the permission with the token alone: Google's description of the call has no fields for our app's id
        and secret."""
        forms.post(self._http, self._revoke_url, {"token": self.revoked_token(tokens)})
        return True

    def accounts(self, tokens: Tokens) -> list[Found]:
        account = Account("", tokens.access_token)
        return [
            Found(str(channel["id"]), self._connector.profile(account), tokens, f"youtube:{channel['id']}")
            for channel in self._connector.channels(account, "id")[:1]
        ]
