"""TikTok's login, which departs from the standard (docs/platforms.md, section 5).

It calls the client id `client_key`, puts commas between scopes, takes the PKCE challenge in hex, and answers with HTTP
200 even for errors.
"""

import hashlib
from urllib.parse import unquote

from publishing.platforms.base import Account
from publishing.platforms.http_client import required
from publishing.platforms.oauth.base import Found, Tokens
from publishing.platforms.oauth.code_login import CodeLogin
from publishing.platforms.tiktok.connector import TikTokConnector
from publishing.platforms.tiktok.settings import TikTokSettings


def _s256_hex(verifier: str) -> str:
    """Returns the PKCE challenge in hex, which TikTok requires instead of base64url."""
    return hashlib.sha256(verifier.encode("ascii")).hexdigest()


class TikTokLogin(CodeLogin):
    scopes = ("user.info.basic", "user.info.profile", "user.info.stats", "video.list", "video.publish")
    client_id_name = "client_key"
    separator = ","
    challenge = staticmethod(_s256_hex)
    #: Shows the page even to a person who allowed the app before; else TikTok may skip it
    #: (developers.tiktok.com/doc/login-kit-web, read November 2026).
    dialog = {"disable_auto_auth": "1"}

    def __init__(self, settings: TikTokSettings) -> None:
        base = f"{settings.api_url.rstrip('/')}/v2/oauth"
        dialog = f"{settings.authorize_url.rstrip('/')}/v2/auth/authorize/"
        super().__init__(settings.app, dialog, f"{base}/token/", f"{base}/revoke/")
        self._connector = TikTokConnector(settings)

    def exchange(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        # The code may still be percent-encoded (platforms.md 5).
        return super().exchange(unquote(code), redirect_uri, verifier)

    def accounts(self, tokens: Tokens) -> list[Found]:
        account = Account("", tokens.access_token)
        open_id = required(self._connector.user(account), "open_id")
        return [Found(open_id, self._connector.profile(account), tokens, f"tiktok:{open_id}")]

    def revoked_token(self, tokens: Tokens) -> str:
        return tokens.access_token
