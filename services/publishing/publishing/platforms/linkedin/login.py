"""LinkedIn's login: the member, and the company pages they administer (platforms.md 4)."""

from collections.abc import Collection
from dataclasses import replace

from publishing.platforms.base import Account
from publishing.platforms.linkedin.connector import LinkedInConnector
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.oauth.base import Found, Tokens
from publishing.platforms.oauth.code_login import CodeLogin

#: Of an app with the products Share on LinkedIn and OpenID Connect.
_MEMBER = ("openid", "profile", "w_member_social")
#: Of an app with Community Management, which can have no other product: LinkedIn refuses the whole login for one scope
#: that the app lacks.
_PAGES = ("rw_organization_admin", "w_organization_social", "r_organization_social")
_COMMUNITY = ("r_basicprofile", "w_member_social", *_PAGES)
_FEED = ("w_member_social_feed", "w_organization_social_feed", "r_organization_social_feed")


class LinkedInLogin(CodeLogin):
    challenge = None

    def __init__(self, settings: LinkedInSettings) -> None:
        base = f"{settings.oauth_url.rstrip('/')}/oauth/v2"
        super().__init__(settings.app, f"{base}/authorization", f"{base}/accessToken", f"{base}/revoke")
        self._has_pages = settings.has_pages
        feed = _FEED if settings.has_feed_scopes else ()
        self.scopes = (*_COMMUNITY, *feed) if settings.has_pages else _MEMBER
        self._connector = LinkedInConnector(settings)

    def accounts(self, tokens: Tokens) -> list[Found]:
        person = Account("", tokens.access_token)
        member_id, profile = self._connector.member(person)
        urns = []
        if self._has_pages and set(_PAGES) <= set(tokens.scopes or self.scopes):
            urns += self._connector.administered_pages(person)
        pages = ((urn, self._connector.profile(replace(person, remote_account_id=urn))) for urn in urns)
        found = [(f"urn:li:person:{member_id}", profile), *pages]
        return [Found(urn, shown, tokens, f"linkedin:{member_id}") for urn, shown in found]

    def missing(self, granted: Collection[str]) -> tuple[str, ...]:
        """Pages that an earlier release linked have OpenID's scopes beside those for company pages, and need no more:
        LinkedIn gives the new ones to new apps (a guess, docs/platforms/linkedin.md).
        """
        needed = (*_MEMBER, *_PAGES) if self._has_pages and "openid" in granted else self.scopes
        return tuple(scope for scope in needed if scope not in granted)

    def revoked_token(self, tokens: Tokens) -> str:
        return tokens.access_token
