"""The examples in `/openapi.json`: requests as written here, answers and events made from their records. Pure.

A field's example is looked up as `Record.field`, then as `field`. Without an entry it is null if the field may be null,
otherwise made from the field's type.
"""

from typing import Any

import msgspec
from msgspec import inspect

from gateway.endpoint import Endpoint

_USER, _BRAND, _PAGE, _OTHER_PAGE, _POST, _COMMENT, _FILE, _JOB, _HOOK, _DELIVERY, _TOKEN, _SESSION, _EVENT = (
    f"{prefix}_01m7wd39a2nwmb78bfztjawf5{number}"
    for number, prefix in enumerate(
        ["usr", "brd", "pag", "pag", "pst", "cmt", "med", "job", "whk", "dlv", "tok", "ses", "evt"], start=2
    )
)  # fmt: skip
_INVITATION = "ivt_01m7wd39a2nwmb78bfztjawf52"
_AT, _LATER = "2026-12-01T08:00:00.000Z", "2026-12-01T09:00:00.000Z"
_WORDS = "Fresh bread from 7 am"
_PHOTO = "https://example.com/bread.jpg"
_CODE = "k3J9x2Lq7TfVb0Zs"
_LINK = f"https://www.facebook.com/{_PAGE}"

#: `Record.field` or field → its example.
_VALUES: dict[str, Any] = {
    "User.id": _USER, "UserInAccount.id": _USER, "Brand.id": _BRAND, "BrandInList.id": _BRAND,
    "BrandWithPages.id": _BRAND,
    "Page.id": _PAGE, "PageOfPost.id": _PAGE, "FullPost.id": _POST,
    "ScheduledPost.id": _POST, "PublishedPost.id": _POST, "Engagement.id": _POST,
    "Cancelled.id": _POST, "PageUnlinked.id": _PAGE, "Comment.id": _COMMENT, "SettledComment.id": _COMMENT,
    "SettledComment.settled_at": _LATER, "Reply.id": f"{_COMMENT[:-1]}x",
    "Subscription.id": _HOOK, "CreatedSubscription.id": _HOOK, "SubscriptionDeleted.id": _HOOK,
    "RotatedSecret.id": _HOOK,
    "DisabledWebhook.id": _HOOK, "Delivery.id": _DELIVERY, "Token.id": _TOKEN, "KeyInMe.id": _TOKEN,
    "KeyInAccount.id": _TOKEN, "Session.id": _SESSION, "SessionEnded.id": _SESSION, "Author.id": "10223344556677889",
    "Pack.id": "pack_500", "AuditEntry.id": "aud_01m7wd39a2nwmb78bfztjawf52",
    "user_id": _USER, "brand_id": _BRAND, "page_id": _PAGE, "post_id": _POST, "media_id": _FILE, "job_id": _JOB,
    "webhook_id": _HOOK, "event_id": _EVENT, "token_id": _TOKEN, "comment_id": _COMMENT, "parent_id": _COMMENT,
    "BegunTotp.secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "totp_code": "492039",
    "otpauth_url": "otpauth://totp/posthaste.example:dana%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
    "recovery_codes": ["k3j9-x2lq-7tfv-b2zs"],
    "Invitation.id": _INVITATION, "InvitationWithdrawn.id": _INVITATION, "invitation_id": _INVITATION,
    "session_id": _SESSION, "upload_id": "upl_01m7wd39a2nwmb78bfztjawf52", "account_id": "100096343486013",
    "platform_post_id": "100096343486013_1795175839147443", "remote_id": "100096343486013_1795175839147443",
    "media_ids": [], "media_urls": [], "post_ids": [_POST], "ListPosts.post_ids": _POST,
    "message": _WORDS, "text": "Is there rye bread too?",
    "AiJob.prompt": "A loaf of bread on a wooden table", "Caption.text": "Fresh from the oven.",
    "platform": "FB", "name": "Corner Bakery", "username": "cornerbakery", "brand_name": "Corner Bakery",
    "Token.name": "website", "KeyInMe.name": "website", "KeyInAccount.name": "website", "firstname": "Dana",
    "lastname": "Miller", "email": "dana@example.com", "tier": "developer", "plan": "developer",
    "timezone": "Europe/Berlin", "prefix": "svc_live_mFj", "scopes": ["read:posts", "write:posts"],
    "api_token": "svc_live_mFj…", "session_token": "svc_session_…", "sandbox_api_token": "svc_test_…",
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "url": "https://example.com/hooks", "Media.url": _PHOTO,
    "UploadedMedia.url": _PHOTO, "src": _PHOTO, "permalink": _LINK, "authorize_url": "https://posthaste.example/connect",
    "billing_url": "https://posthaste.example/billing", "documentation_url": "https://posthaste.example/docs",
    "poll_url": f"/api/v1/ai/jobs/{_JOB}", "reconnect_url": "https://posthaste.example/connect",
    "Part.url": "https://storage.example.com/upload?part=1", "events": ["post.published", "post.failed"],
    "event": "post.published", "filename": "bread.jpg", "mime_type": "image/jpeg", "published_at": _LATER,
    "scheduled_at": _LATER, "address": "203.0.113.7", "user_agent": "Firefox", "service": "posthaste",
    "version": "1.3.0", "ErrorRow.code": "MISSING_FIELD", "ErrorRow.message": "A required field is missing.",
    "ErrorRow.recommended_fix": "Send the field named in `field`.", "category": "request", "http_status": 400,
    "LastRefusal.code": "PLATFORM_REJECTED", "LastRefusal.message": "The photo is too large.", "refused_at": _LATER,
    "PostError.code": "PLATFORM_REJECTED", "PostError.message": "The photo is too large.", "action": "image",
    "label": "Image", "bucket": "publishes", "actor_id": _USER, "subject_id": _TOKEN,
    "AuditEntry.action": "token.create",
    "role": "full", "kind": "image", "invited_by": "dana@example.com",
    "LogEntry.path": "/posts/publish", "LogEntry.operation": "publishPost", "LogEntry.method": "POST",
    "LogEntry.status": 201, "LogEntry.code": None, "LogEntry.replayed": False, "LogEntry.duration_ms": 180,
    "DayOfUse.date": "2026-11-26", "DayOfUse.requests": 120, "DayOfUse.reads": 100, "DayOfUse.writes": 20,
    "DayOfUse.publishes": 12, "DayOfUse.replies": 2, "DayOfUse.refused": 1, "DayOfUse.failed": 0,
    "LedgerEntry.kind": "charge", "LedgerEntry.amount": -10,
    "LedgerEntry.balance_after": 90, "LedgerEntry.owed": 0, "LedgerEntry.job_id": _JOB,
    "AutoRefill.status": "off", "Probe.status": "ok", "CreditsAdjusted.reason": "refund",
    "PageResult.status": 201, "PageResult.error": None, "success": True, "verified": True, "valid": True,
    "was_published": True, "healthy": True, "status_code": 200,
    **dict.fromkeys(("password", "current_password", "new_password"), "correct horse battery staple"),
}  # fmt: skip

#: Name of a handler → the example of its body. An endpoint without one gets an example of its required fields.
_BODIES: dict[str, dict[str, Any]] = {
    "schedule_post": {"page_id": _PAGE, "message": _WORDS, "scheduled_at": "2026-12-01T09:00:00Z"},
    "publish_post": {"page_id": _PAGE, "message": _WORDS},
    "validate_post": {"page_id": _PAGE, "message": _WORDS, "media_urls": [_PHOTO]},
    "edit_post": {"message": "Fresh bread from 8 am"},
    "release_held_posts": {"post_ids": [_POST], "past_due": "hold"},
    "mark_comments_read": {"read_until": "2026-11-28T09:00:00Z"},
    "reply_to_comment": {"page_id": _PAGE, "comment_id": _COMMENT, "message": "Yes, from 9 am."},
    "begin_link": {"platform": "FB", "brand_id": _BRAND},
    "choose_accounts": {"account_ids": ["100096343486013"]},
    "begin_upload": {"filename": "oven.mp4", "mime_type": "video/mp4", "size_bytes": 52_428_800},
    "complete_upload": {"parts": [{"number": 1, "etag": '"9b2cf535f27731c974343645a3985328"'}]},
    "generate_image": {"prompt": "A loaf of bread on a wooden table", "aspect_ratio": "1:1"},
    "edit_image": {"prompt": "Make the background white", "media_id": _FILE},
    "generate_video": {"prompt": "Steam rises from a loaf", "aspect_ratio": "9:16"},
    "write_caption": {"brand_id": _BRAND, "instruction": "Announce fresh bread on Saturday", "words": 30},
    "edit_auto_refill": {"enabled": True, "threshold": 100, "amount": 500},
    "create_webhook": {"name": "my server", "url": "https://example.com/hooks", "events": ["post.published"]},
    "edit_webhook": {"events": ["post.published", "post.failed"]},
    "create_token": {"name": "website", "scopes": ["read:posts", "write:posts"]},
    "edit_token": {"name": "website, read only", "scopes": ["read:posts"]},
    "invite_person": {"email": "sam@example.com", "role": "full"},
    "edit_account": {"firstname": "Dana", "timezone": "Europe/Berlin", "language": "de"},
    "change_email": {"email": "dana@example.org", "password": "correct horse battery staple"},
    "sign_up": {"email": "dana@example.com", "password": "correct horse battery staple"},
}
#: First part of a path → the example of the path's `id`.
_IDS = {
    "pages": _PAGE, "brands": _BRAND, "posts": _POST, "media": _FILE, "ai": _JOB, "webhooks": _HOOK, "tokens": _TOKEN,
    "auth": _SESSION,
}  # fmt: skip
_PATH = {
    "session_id": _SESSION,
    "delivery_id": _DELIVERY,
    "key": _CODE,
    "platform": "facebook",
    "code": _CODE,
}


def example_of(kind: Any) -> Any:
    """Returns an example value of a type, as JSON."""
    return _example(inspect.type_info(kind), "", "")


def body_of(row: Endpoint) -> dict[str, Any]:
    """Returns an example of a request's body."""
    known = _BODIES.get(row.handler.__name__)
    if known is not None:
        return dict(known)
    described: Any = inspect.type_info(row.request)
    names = {field.name for field in row.reader.own_fields if field.required}
    names |= {next(iter(row.reader.one_of))} if row.reader.one_of else set()
    if not names and row.reader.own_fields:
        names = {row.reader.own_fields[0].name}
    return {
        field.encode_name: _example(field.type, described.cls.__name__, field.encode_name, is_needed=True)
        for field in described.fields
        if field.encode_name in names
    }


def several_pages(body: dict[str, Any]) -> dict[str, Any]:
    """Returns the example body of a call for several pages, made from the example body for one page."""
    own = {"page_id": _OTHER_PAGE, "message": "Fresh bread, right now"}
    same = {name: body[name] for name in body if name != "page_id"}
    return {"page_ids": [_PAGE, _OTHER_PAGE], **same, "overrides": [own]}


def path_value(row: Endpoint, name: str) -> str:
    """Returns an example of a parameter in the path."""
    if name == "id":
        return _IDS.get(row.path.split("/")[1], _POST)
    return str(_PATH.get(name) or _VALUES.get(name) or f"{name}_1")


def query_value(row: Endpoint, name: str) -> Any:
    """Returns an example of a required query parameter."""
    field = next(one for one in msgspec.structs.fields(row.request) if one.encode_name == name)
    return _example(inspect.type_info(field.type), row.request.__name__, name, is_needed=True)


def _example(kind: Any, record: str, name: str, *, is_needed: bool = False) -> Any:
    for known in (f"{record}.{name}", name):
        if known in _VALUES and not isinstance(kind, inspect.StructType | inspect.LiteralType):
            return _VALUES[known]
    match kind:
        case inspect.Metadata():
            values = (kind.extra_json_schema or {}).get("enum")
            if values:
                return values[0]
            return _example(kind.type, record, name, is_needed=is_needed)
        case inspect.UnionType():
            if any(isinstance(one, inspect.NoneType) for one in kind.types) and not is_needed:
                return None
            options = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
            return _example(options[0], record, name, is_needed=is_needed)
        case inspect.StructType():
            left_out = kind.cls.__struct_config__.omit_defaults
            return {
                field.encode_name: _example(field.type, kind.cls.__name__, field.name)
                for field in kind.fields
                if not (left_out and not field.required and field.name != "scheduled_post")
            }
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.VarTupleType() | inspect.ListType():
            return [_example(kind.item_type, record, name, is_needed=True)]
    return _scalar(kind)


def _scalar(kind: Any) -> Any:
    match kind:
        case inspect.DateTimeType():
            return _AT
        case inspect.BoolType():
            return False
        case inspect.IntType():
            return max(kind.ge or 0, 3)
        case inspect.FloatType():
            return 1.5
        case inspect.StrType():
            return "text".ljust(kind.min_length or 0, "t")
    return {}
