"""LinkedIn's login: the member, and the company pages they administer (platforms.md 4)."""

from dataclasses import replace

from publishing.platforms.answers import required
from publishing.platforms.base import Account
from publishing.platforms.linkedin.connector import LinkedInConnector
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.oauth.base import Found, Tokens
from publishing.platforms.oauth.code_login import CodeLogin

_MEMBER = ("openid", "profile", "w_member_social")
#: LinkedIn gives these only to apps with the Community Management product, and refuses the login of others.
_PAGES = ("rw_organization_admin", "w_organization_social", "r_organization_social")


class LinkedInLogin(CodeLogin):
    challenge = None

    def __init__(self, settings: LinkedInSettings) -> None:
        base = f"{settings.oauth_url.rstrip('/')}/oauth/v2"
        super().__init__(settings.app, f"{base}/authorization", f"{base}/accessToken", f"{base}/revoke")
        self._has_pages = settings.has_pages
        self.scopes = _MEMBER + (_PAGES if settings.has_pages else ())
        self._connector = LinkedInConnector(settings)

    def accounts(self, tokens: Tokens) -> list[Found]:
        person = Account("", tokens.access_token)
        sub = required(self._connector.member(person), "sub")
        urns = [f"urn:li:person:{sub}"]
        if self._has_pages and set(_PAGES) <= set(tokens.scopes or self.scopes):
            urns += self._connector.administered_pages(person)
        return [
            Found(
                urn,
                self._connector.profile(replace(person, remote_account_id=urn)),
                tokens,
                f"linkedin:{sub}",
            )
            for urn in urns
        ]

    def revoked_token(self, tokens: Tokens) -> str:
        return tokens.access_token
