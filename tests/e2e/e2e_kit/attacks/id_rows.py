"""All requests to the API that can contain an id, and a caller that sends them with ids of another owner."""

import json
import random
import re
from dataclasses import dataclass

import requests

from e2e_kit.api import Api, Json
from e2e_kit.operator import Account
from e2e_kit.posting import schedule, tomorrow

PREFIXES = {
    "brand": "brd_", "page": "pag_", "queued": "pst_", "published": "pst_", "comment": "cmt_", "media": "med_",
    "upload": "upl_", "job": "job_", "webhook": "whk_", "delivery": "dlv_", "session": "lnk_", "user": "usr_",
    "signed_in": "ses_", "request": "req_", "token": "tok_",
    "invitation": "ivt_",
}  # fmt: skip


#: A time range with all posts, as a calendar asks for it.
_SPAN = "since=2020-01-01T00:00:00Z&until=2100-01-01T00:00:00Z"


@dataclass(frozen=True)
class Row:
    """A request. In its path and body, `{kind}` stands for an id of the other owner and `<kind>` for an id of the
    caller.
    """

    method: str
    path: str
    body: Json | None = None
    #: The response to a token that is for another brand only: 403 for brands and their objects, otherwise 404.
    other_brand: tuple[int, str | None] = (403, "BRAND_NOT_AUTHORIZED")

    def __str__(self) -> str:
        return " ".join((self.method, self.path, *self.fields))

    @property
    def fields(self) -> list[str]:
        """The names of the body's fields with an id of the other owner."""
        return [name for name, value in (self.body or {}).items() if re.search(r"{\w+}", str(value))]


GONE = (404, "NOT_FOUND")
#: The response if the token would have to manage the account, which a token for brands cannot do.
NOT_FOR_BRANDS = (403, "MISSING_SCOPE")
#: Scopes of a token that may call every route.
EVERYTHING = "*,manage:*"
_POST = {"page_id": "<page>", "message": "x"}
_OVERRIDDEN = {
    "page_ids": ["<page>"],
    "message": "x",
    "overrides": [{"page_id": "{page}", "message": "y"}],
}
ROWS = (
    Row("GET", "/brands/{brand}"),
    Row("GET", "/brands/{brand}/pages"),
    Row("GET", "/pages?brand_id={brand}"),
    Row("POST", "/pages/connect", {"platform": "FB", "brand_id": "{brand}"}),
    Row("POST", "/ai/captions", {"brand_id": "{brand}", "instruction": "x"}),
    Row("POST", "/ai/images", {"prompt": "x", "brand_id": "{brand}"}),
    Row("POST", "/ai/videos", {"prompt": "x", "brand_id": "{brand}"}),
    Row(
        "POST",
        "/webhooks",
        {"name": "x", "url": "http://127.0.0.1:9/", "events": ["post.failed"], "brand_ids": ["{brand}"]},
    ),
    Row("PATCH", "/webhooks/<webhook>", {"brand_ids": ["{brand}"]}),
    Row("GET", "/pages/connect/{session}"),
    Row("POST", "/pages/connect/{session}", {"account_ids": ["x"]}),
    Row("GET", "/pages/{page}"),
    Row("DELETE", "/pages/{page}"),
    Row("POST", "/pages/{page}/check", {}),
    Row("POST", "/posts/publish", {"page_id": "{page}", "message": "x"}),
    Row("POST", "/posts/schedule", {"page_id": "{page}", "message": "x", "scheduled_at": tomorrow()}),
    Row("POST", "/posts/publish", {"page_ids": ["{page}"], "message": "x"}),
    Row("POST", "/posts/schedule", {"page_ids": ["{page}"], "message": "x", "scheduled_at": tomorrow()}),
    Row("POST", "/posts/validate", {"page_id": "{page}", "message": "x"}),
    Row("POST", "/posts/validate", {"page_ids": ["{page}"], "message": "x"}),
    # A page that is not in the request's own list is refused, whoever owns it.
    Row("POST", "/posts/publish", _OVERRIDDEN, (400, "VALIDATION_ERROR")),
    Row("POST", "/posts/schedule", _OVERRIDDEN | {"scheduled_at": tomorrow()}, (400, "VALIDATION_ERROR")),
    Row("POST", "/posts/validate", _OVERRIDDEN, (400, "VALIDATION_ERROR")),
    Row("GET", "/posts/scheduled?page_id={page}"),
    Row("GET", "/posts/published?page_id={page}"),
    Row("GET", "/posts/published?sort=activity&page_id={page}"),
    Row("GET", "/posts/scheduled?brand_id={brand}"),
    Row("GET", "/posts/published?brand_id={brand}"),
    Row("GET", "/posts/published?sort=activity&brand_id={brand}"),
    Row("PUT", "/comments/read", {"brand_id": "{brand}", "read_until": "2020-01-01T00:00:00Z"}),
    Row("POST", "/comments/reply", {"page_id": "{page}", "comment_id": "cmt_x", "message": "x"}),
    Row("GET", f"/posts/calendar?page_id={{page}}&{_SPAN}"),
    Row("GET", f"/posts/calendar?brand_id={{brand}}&{_SPAN}"),
    Row("GET", "/posts/scheduled/counts?page_id={page}"),
    Row("GET", "/posts/scheduled/counts?brand_id={brand}"),
    Row("GET", "/posts/scheduled/{queued}"),
    Row("GET", "/posts?post_ids={queued}", None, (200, None)),
    Row("GET", "/posts/{queued}"),
    Row("GET", "/posts/{published}"),
    Row("PATCH", "/posts/scheduled/{queued}", {"message": "mine now"}),
    Row("DELETE", "/posts/scheduled/{queued}"),
    Row("POST", "/posts/scheduled/{queued}/retry", {}),
    Row("POST", "/posts/held/release", {"post_ids": ["{queued}"]}),
    Row("POST", "/posts/held/cancel", {"post_ids": ["{queued}"]}),
    Row("POST", "/posts/held/release", {"made_by": "{user}"}, (200, None)),
    Row("POST", "/posts/held/cancel", {"made_by": "{user}"}, (200, None)),
    Row("GET", "/posts/published/{published}/engagement"),
    Row("GET", "/comments?post_id={published}"),
    Row("GET", "/comments?post_id={published}&page_id={page}"),
    Row("POST", "/comments/reply", {"page_id": "<page>", "comment_id": "{comment}", "message": "x"}, GONE),
    Row("PUT", "/comments/{comment}/settled", {}),
    Row("DELETE", "/comments/{comment}/settled"),
    Row("GET", "/media/{media}", None, GONE),
    Row("DELETE", "/media/{media}", None, GONE),
    Row("GET", "/media?media_ids={media}", None, (200, None)),
    Row("POST", "/posts/publish", {**_POST, "media_ids": ["{media}"]}, GONE),
    Row("POST", "/posts/schedule", {**_POST, "media_ids": ["{media}"], "scheduled_at": tomorrow()}, GONE),
    Row("POST", "/posts/validate", {**_POST, "media_ids": ["{media}"]}, (200, None)),
    Row("PATCH", "/posts/scheduled/<queued>", {"media_ids": ["{media}"]}, GONE),
    Row(
        "POST",
        "/ai/images",
        {"prompt": "x", "reference_media_ids": ["{media}"]},
        (400, "INVALID_REFERENCE_MEDIA"),
    ),
    Row("POST", "/ai/images/edit", {"prompt": "x", "media_id": "{media}"}, (400, "INVALID_REFERENCE_MEDIA")),
    Row("POST", "/ai/videos", {"prompt": "x", "media_id": "{media}"}, (400, "INVALID_REFERENCE_MEDIA")),
    Row("POST", "/media/uploads/{upload}/complete", {"parts": [{"number": 1, "etag": "x"}]}, GONE),
    Row("GET", "/ai/jobs/{job}", None, GONE),
    Row("GET", "/webhooks/{webhook}", None, GONE),
    Row("PATCH", "/webhooks/{webhook}", {"name": "mine now"}, GONE),
    Row("DELETE", "/webhooks/{webhook}", None, GONE),
    Row("POST", "/webhooks/{webhook}/enable", {}, GONE),
    Row("POST", "/webhooks/{webhook}/test", {}, GONE),
    Row("POST", "/webhooks/{webhook}/rotate-secret", {}, GONE),
    Row("GET", "/webhooks/{webhook}/deliveries", None, GONE),
    Row("GET", "/webhooks/{webhook}/deliveries/{delivery}", None, GONE),
    Row("GET", "/webhooks/<webhook>/deliveries/{delivery}", None, GONE),
    Row("POST", "/webhooks/{webhook}/deliveries/{delivery}/replay", {}, GONE),
    Row("POST", "/webhooks/<webhook>/deliveries/{delivery}/replay", {}, GONE),
    Row("DELETE", "/auth/sessions/{signed_in}", None, NOT_FOR_BRANDS),
    Row("POST", "/auth/brands/{brand}/session", {}, NOT_FOR_BRANDS),
    Row("GET", "/tokens/{token}", None, NOT_FOR_BRANDS),
    Row("PATCH", "/tokens/{token}", {"name": "mine now"}, NOT_FOR_BRANDS),
    Row("POST", "/tokens/{token}/rotate", {}, NOT_FOR_BRANDS),
    Row("DELETE", "/tokens/{token}", None, NOT_FOR_BRANDS),
    Row("POST", "/tokens", {"name": "x", "scopes": ["*"], "brand_ids": ["{brand}"]}, NOT_FOR_BRANDS),
    Row("PATCH", "/tokens/<token>", {"brand_ids": ["{brand}"], "scopes": ["*"]}, NOT_FOR_BRANDS),
    Row("GET", "/audit?brand_id={brand}", None, NOT_FOR_BRANDS),
    Row("GET", "/logs?token_id={token}"),
    Row("GET", "/logs/{request}"),
    Row("PATCH", "/brands/{brand}", {"name": "mine now"}, NOT_FOR_BRANDS),
    Row("POST", "/brands/{brand}/archive", {}, NOT_FOR_BRANDS),
    Row("POST", "/brands/{brand}/restore", {}, NOT_FOR_BRANDS),
    Row("GET", "/brands/{brand}/collaborators", None, NOT_FOR_BRANDS),
    Row("GET", "/brands/{brand}/invitations", None, NOT_FOR_BRANDS),
    Row("POST", "/brands/{brand}/invitations", {"email": "x@example.test", "role": "full"}, NOT_FOR_BRANDS),
    Row("DELETE", "/brands/{brand}/invitations/{invitation}", None, NOT_FOR_BRANDS),
    Row("DELETE", "/brands/<brand>/invitations/{invitation}", None, NOT_FOR_BRANDS),
    Row("PATCH", "/brands/{brand}/collaborators/{user}", {"role": "limited"}, NOT_FOR_BRANDS),
    Row("PATCH", "/brands/<brand>/collaborators/{user}", {"role": "limited"}, NOT_FOR_BRANDS),
    Row("DELETE", "/brands/{brand}/collaborators/{user}", None, NOT_FOR_BRANDS),
    Row("DELETE", "/brands/<brand>/collaborators/{user}", None, NOT_FOR_BRANDS),
)


@dataclass(frozen=True)
class Asker:
    """A caller of the API, with ids of its own for the other parts of a request."""

    api: Api
    own: dict[str, str]

    def ask(self, row: Row, ids: dict[str, str]) -> requests.Response:
        filled = json.dumps([row.path, row.body])
        for name, one in ids.items():
            filled = filled.replace("{" + name + "}", one)
        for name, one in self.own.items():
            filled = filled.replace(f"<{name}>", one)
        path, body = json.loads(filled)
        return self.api.call(row.method, path, **({} if body is None else {"json": body}))


def asker(account: Account, api: Api | None = None) -> Asker:
    body = {"name": "own", "url": "http://127.0.0.1:9/", "events": ["post.failed"]}
    own = {
        "brand": account.brand_id,
        "page": account.page_id(),
        "queued": schedule(account, message="own")["id"],
        "webhook": account.api.post("/webhooks", body | {"brand_ids": [account.brand_id]})["id"],
        "token": account.token_id,
    }
    return Asker(api or account.api, own)


def unknown() -> dict[str, str]:
    """Returns kind → well-formed id of an object that does not exist."""
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    return {
        kind: f"{prefix}01m{''.join(random.choices(alphabet, k=23))}" for kind, prefix in PREFIXES.items()
    }
