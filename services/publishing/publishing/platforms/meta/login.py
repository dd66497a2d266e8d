"""Facebook's login, for pages and for the Instagram accounts that belong to them (docs/platforms.md, sections 1 and 3).

Page tokens made with a long-lived user token do not expire, so they are never renewed. They cannot be revoked either:
after unlinking a page, the person removes the app at Facebook.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from publishing.platforms.base import Account, Profile, Refusal
from publishing.platforms.http_client import Answer, unrecognised
from publishing.platforms.meta.errors import refusal_from
from publishing.platforms.meta.graph import Graph, rows_of
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.oauth import forms
from publishing.platforms.oauth.base import Found, Login, Tokens


class MetaLogin(Login):
    """Base class of the logins of Facebook and Instagram. A subclass defines the scopes, and which account of a
    Facebook page is linked."""

    #: The fields of a page that the person's permissions cover. One field too many may fail the whole call.
    page_fields = "id,name,username,access_token,followers_count,picture.type(large)"

    def __init__(self, settings: MetaSettings) -> None:
        self._app = settings.app
        self._dialog = f"{settings.authorize_url.rstrip('/')}/{settings.graph_version}/dialog/oauth"
        self._base = f"{settings.facebook_url.rstrip('/')}/{settings.graph_version}"
        self._graph = Graph(settings.facebook_url, settings)
        self._http = forms.http_client()

    def authorize_url(self, state: str, redirect_uri: str, verifier: str) -> str:
        return forms.with_query(
            self._dialog,
            client_id=self._app.client_id,
            redirect_uri=redirect_uri,
            state=state,
            scope=",".join(self.scopes),
            response_type="code",
            # Asks even a person who is logged in for the password, so that nobody links a page without noticing
            # (developers.facebook.com/docs/facebook-login/reauthentication, read November 2026).
            auth_type="reauthenticate",
        )

    def exchange(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        short = self._token(redirect_uri=redirect_uri, code=code)
        long = self._token(grant_type="fb_exchange_token", fb_exchange_token=short.access_token)
        permissions = rows_of(self._graph.read(_person(long), "me", "permissions"))
        scopes = tuple(str(row.get("permission")) for row in permissions if row.get("status") == "granted")
        return Tokens(long.access_token, None, long.lifetime_seconds, scopes)

    def accounts(self, tokens: Tokens) -> list[Found]:
        person = self._graph.read(_person(tokens), "me", fields="id")
        rows = {str(row.get("id")): row for row in self._rows(tokens)}
        found = (self._found(row, tokens.scopes, f"meta:{person.get('id')}") for row in rows.values())
        return [one for one in found if one is not None]

    def _rows(self, tokens: Tokens) -> Iterator[dict[str, Any]]:
        """Yields the Facebook pages on which the person has a role, then those that a business portfolio gives access
        to."""
        person, fields = _person(tokens), self.page_fields
        yield from self._graph.rows(person, "me", "accounts", fields=fields)
        if "business_management" in (tokens.scopes or ()):
            for business in list(self._graph.rows(person, "me", "businesses", fields="id")):
                for edge in ("owned_pages", "client_pages"):
                    yield from self._graph.rows(person, str(business["id"]), edge, fields=fields)

    def granted(self, tokens: Tokens) -> tuple[str, ...] | None:
        if not self._app.client_secret:
            return tokens.scopes
        own = f"{self._app.client_id}|{self._app.client_secret}"
        data = self._get("debug_token", input_token=tokens.access_token, access_token=own).get("data") or {}
        return tuple(map(str, data.get("scopes") or ()))

    @abstractmethod
    def found(self, page: Answer) -> tuple[str, Profile] | None:
        """Returns the id and profile of the account that is linked for this Facebook page. None if the page has no such
        account."""

    def _found(self, page: Answer, scopes: tuple[str, ...] | None, grant_id: str) -> Found | None:
        # The person may see a page without a token, but not act for it.
        account = self.found(page) if page.get("access_token") else None
        return account and Found(*account, Tokens(str(page["access_token"]), scopes=scopes), grant_id)

    def _token(self, **query: str) -> Tokens:
        app = {"client_id": self._app.client_id, "client_secret": self._app.client_secret}
        return forms.tokens_in(self._get("oauth/access_token", **app, **query))

    def _get(self, path: str, **query: str) -> dict[str, Any]:
        """Sends a GET with secrets in its address, as Meta requires. Returns the answer; raises PlatformRefusal if
        Meta refuses.
        """
        response = self._http.send("GET", forms.with_query(f"{self._base}/{path}", **query), headers={})
        error = response.body.get("error") if isinstance(response.body, dict) else None
        if isinstance(error, dict):
            refusal = refusal_from(error, response.headers)
            if response.status >= 500:
                refusal.kind = Refusal.TRANSIENT
            raise refusal
        if not response.is_good or not isinstance(response.body, dict):
            raise unrecognised(response, False)
        return response.body


def _person(tokens: Tokens) -> Account:
    return Account("me", tokens.access_token)
