"""LinkedIn's login: the member, and the company pages they administer (platforms.md 4)."""

from dataclasses import replace

from publishing.platforms.base import Account, PlatformRefusal, Refusal
from publishing.platforms.linkedin.calls import Calls
from publishing.platforms.linkedin.connector import LinkedInConnector
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.oauth import forms
from publishing.platforms.oauth.base import Found, Login, Tokens

_MEMBER = ("openid", "profile", "w_member_social")
#: LinkedIn gives these to apps with the Community Management product alone, and refuses the login of others.
_PAGES = ("rw_organization_admin", "w_organization_social", "r_organization_social")


class LinkedInLogin(Login):
    def __init__(self, settings: LinkedInSettings) -> None:
        self._app, self._has_pages = settings.app, settings.has_pages
        self._base = f"{settings.oauth_url.rstrip('/')}/oauth/v2"
        self.scopes = _MEMBER + (_PAGES if settings.has_pages else ())
        self._calls = Calls(settings)
        self._connector = LinkedInConnector(settings)
        self._wire = forms.wire()

    def authorize_url(self, state: str, redirect_uri: str, verifier: str) -> str:
        return forms.with_query(
            f"{self._base}/authorization",
            response_type="code",
            client_id=self._app.client_id,
            redirect_uri=redirect_uri,
            state=state,
            scope=" ".join(self.scopes),
        )

    def exchange(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        return self._ask(grant_type="authorization_code", code=code, redirect_uri=redirect_uri)

    def refresh(self, refresh_token: str) -> Tokens:
        return self._ask(grant_type="refresh_token", refresh_token=refresh_token)

    def accounts(self, tokens: Tokens) -> list[Found]:
        person = Account("", tokens.access_token)
        sub = str(self._calls.read(person, "v2/userinfo").get("sub") or "")
        if not sub:
            raise PlatformRefusal(Refusal.TRANSIENT, "NO_ID", "The platform's answer names no member.")
        urns = [f"urn:li:person:{sub}"]
        if self._has_pages and set(_PAGES) <= set(tokens.scopes or self.scopes):
            rows = self._calls.rows(person, "organizationAcls", q="roleAssignee", state="APPROVED")
            urns += dict.fromkeys(
                str(row.get("organization") or row.get("organizationTarget")) for row in rows
            )
        return [
            Found(
                urn,
                self._connector.profile(replace(person, remote_account_id=urn)),
                tokens,
                f"linkedin:{sub}",
            )
            for urn in urns
        ]

    def revoke(self, tokens: Tokens) -> bool:
        forms.post(self._wire, f"{self._base}/revoke", self._signed(token=tokens.access_token))
        return True

    def _ask(self, **form: str) -> Tokens:
        return forms.tokens_in(forms.post(self._wire, f"{self._base}/accessToken", self._signed(**form)))

    def _signed(self, **form: str) -> dict[str, str]:
        return form | {"client_id": self._app.client_id, "client_secret": self._app.client_secret}
