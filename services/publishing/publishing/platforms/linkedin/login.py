"""LinkedIn's logins: one app for members, another for members and the company pages they run (docs/platforms.md,
section 4)."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from publishing.platforms.base import Account
from publishing.platforms.linkedin.connector import LinkedInConnector
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.oauth.base import Found, Login, Tokens
from publishing.platforms.oauth.code_login import CodeLogin

#: The kinds of account, and so the apps: `account_types` of LinkedIn's row in `contracts.platforms`.
MEMBER, ORGANIZATION = "member", "organization"
#: The scopes of an app with the products Share on LinkedIn and OpenID Connect.
_MEMBER = ("openid", "profile", "w_member_social")
#: The scopes of an app with Community Management, which can have no other product. LinkedIn refuses the whole login for
#: one scope that the app lacks.
_PAGES = ("rw_organization_admin", "w_organization_social", "r_organization_social")
_COMMUNITY = ("r_basicprofile", "w_member_social", *_PAGES)
_FEED = ("w_member_social_feed", "w_organization_social_feed", "r_organization_social_feed")
#: Each of these shows that a token comes from an app with Community Management; LinkedIn takes no comment without it.
COMMENT_SCOPES = ("w_member_social_feed", "r_basicprofile", *_PAGES)


def login(settings: LinkedInSettings) -> Login:
    """Returns LinkedIn's login for members. If only the app for company pages is configured, returns that app's login.

    If both apps are configured, `of_app` of the members' login returns the login for company pages. The members' login
    is the default, so that an operator who adds the app for company pages changes nothing for clients that name no kind
    of account.
    """
    apps = {MEMBER: settings.member_app, ORGANIZATION: settings.pages_app}
    found = {name: LinkedInLogin(settings, name) for name, app in apps.items() if app.client_id}
    for one in found.values():
        one.by_app = found
    return next(iter(found.values()))


class LinkedInLogin(CodeLogin):
    """The login of one of our apps at LinkedIn."""

    challenge = None

    def __init__(self, settings: LinkedInSettings, app_name: str) -> None:
        base = f"{settings.oauth_url.rstrip('/')}/oauth/v2"
        self._has_pages = app_name == ORGANIZATION
        app = settings.pages_app if self._has_pages else settings.member_app
        dialog = f"{(settings.authorize_url or settings.oauth_url).rstrip('/')}/oauth/v2/authorization"
        super().__init__(app, dialog, f"{base}/accessToken", f"{base}/revoke")
        self.app_name, self.by_app = app_name, {app_name: self}
        feed = _FEED if settings.has_feed_scopes else ()
        self.scopes = (*_COMMUNITY, *feed) if self._has_pages else _MEMBER
        self._connector = LinkedInConnector(settings)

    def of_app(self, name: str | None, granted: Collection[str] | None = None) -> Login | None:
        # Tokens stored before 1.4.0, when there was one app, name none.
        if name is None and granted and len(self.by_app) > 1:
            name = ORGANIZATION if set(_PAGES) & set(granted) else MEMBER
        return self if name is None else self.by_app.get(name)

    def _ask(self, form: Mapping[str, str]) -> Tokens:
        return replace(super()._ask(form), app=self.app_name)

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
        """Returns the scopes that the page needs and that are not in `granted`.

        LinkedIn gives the newer scopes only to new apps (a guess, docs/platforms/linkedin.md). So a page that was
        linked before 1.4.0, recognised by the scope `openid`, needs only the scopes that were asked for then.
        """
        needed = (*_MEMBER, *_PAGES) if self._has_pages and "openid" in granted else self.scopes
        return tuple(scope for scope in needed if scope not in granted)

    def revoked_token(self, tokens: Tokens) -> str:
        return tokens.access_token
