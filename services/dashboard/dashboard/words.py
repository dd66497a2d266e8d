"""The words that the screens show for the codes and fields of the API. Pure."""

import re
from collections.abc import Callable, Iterable

from markupsafe import Markup

from posthaste.errors import ApiError, FieldError
from posthaste.records import AuditEntry, MediaItem

PLATFORMS = {
    "FB": "Facebook",
    "IG": "Instagram",
    "LN": "LinkedIn",
    "TT": "TikTok",
    "TW": "X",
    "YT": "YouTube",
}
#: Platforms that show several pictures one after the other, not side by side.
CAROUSELS = ("IG", "LN", "TT")
#: Platforms whose likes, comments and shares the API reads (`engagement` of `x-platforms`).
COUNTED = ("FB", "IG")
#: Characters of a text that a platform shows before "more". Guesses: the platforms document no figure, and their apps
#: cut by lines of the window.
_SHOWN_AT_ONCE = {"FB": 470, "IG": 125, "LN": 210, "TT": 100, "YT": 100}
STATUSES = {
    "queued": "Scheduled",
    "held": "Held",
    "published": "Published",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
#: The states of auto-refill.
REFILL_STATES = {
    "off": "Off.",
    "active": "On.",
    "pending": "A payment is under way.",
    "payment_failed": "The last payment failed. Save again to try the card once more.",
    "no_payment_method": "On, but no card is stored for your account yet: ask the operator of this server to add one.",
}
#: Errors of a post that may be out all the same, or may go out yet.
UNSETTLED = ("PLATFORM_OUTCOME_UNKNOWN", "POST_IN_PROGRESS", "IDEMPOTENCY_IN_PROGRESS")
#: What to do about an error of a post, where the API's own advice is for developers.
ADVICE = {
    "PLATFORM_REJECTED": "{platform} gave this reason. If it is about the post, choose Edit and retry. "
    "If it is about a permission, check the page’s connection, then choose Try again.",
    "PLATFORM_OUTCOME_UNKNOWN": "Look at the page on {platform}. Try again only if the post is not there.",
    "PAGE_EXPIRED": "Reconnect the page, then try again.",
    "PAGE_PERMISSION_MISSING": "Reconnect the page and allow everything that {platform} asks, then try again.",
    "UNSUPPORTED_PLATFORM": "Change the post: {platform} does not take it as it is.",
}
#: Errors of a post whose remedy is on the screen of the pages.
ABOUT_THE_PAGE = ("PLATFORM_REJECTED", "PAGE_EXPIRED", "PAGE_PERMISSION_MISSING")
#: Errors of a post that pass: the same post can go out later. All others want somebody to look at it first.
_PASSING = (
    "PAGE_EXPIRED",
    "PAGE_PERMISSION_MISSING",
    "PLATFORM_ERROR",
    "SERVICE_UNAVAILABLE",
    "MEDIA_PROCESSING",
)
OUTCOMES = {
    "open": "No answer yet. Posthaste is asking {platform}.",
    "published": "Published.",
    "refused": "{platform} refused the post.",
    "not_published": "Not published: Posthaste looked, and {platform} does not have the post.",
    "given_up": "{platform} did not say within a day whether it has the post.",
}
HOLDS = {
    "token_revoked": "The API token that created this post was revoked.",
    "collaborator_removed": "The person who created this post no longer works on this brand.",
}
#: Fields of the API → where the composer shows a finding.
_FIELDS = {
    "message": "Text",
    "overrides": "Text",
    "media_ids": "Photos and videos",
    "media_urls": "Photos and videos",
    "first_comment": "First comment",
    "scheduled_at": "Time",
    "page_id": "Page",
    "page_ids": "Page",
}
#: What the API says of a value whose type does not fit → the same in plain words. The first that fits.
_MISFITS = (
    (r"Expected `(?:int|float)[^`]*`, got .*", "Enter a whole number."),
    (r"Expected `(?:int|float)[^`]*` >= (\S+).*", r"Enter \1 or more."),
    (r"Expected `(?:int|float)[^`]*` <= (\S+).*", r"Enter \1 or less."),
    (r"Expected `str[^`]*` of length <= (\S+).*", r"Enter at most \1 characters."),
    (r"Expected `array[^`]*` of length <= (\S+).*", r"Enter at most \1 lines."),
    (r"Expected `str[^`]*` matching regex .*\[\^<>\].*", "Write something, without < and >."),
    (r"Expected .*", "The platform does not take this value."),
)
#: Field of the composer → the fields of the API whose findings are told below it. A finding about a setting is told
#: below its own field; about one that the form does not have, above all settings.
_BESIDE = {
    "message": ("message", "overrides"),
    "media": ("media_ids", "media_urls"),
    "first_comment": ("first_comment",),
    "time": ("scheduled_at",),
    "pages": ("page_id", "page_ids"),
    "settings": (),
}
FIELDS = tuple(_BESIDE)
#: Scope → what it allows, in the order of the form.
SCOPES = {
    "read:account": "See the account, its limits and credits",
    "read:brands": "See brands",
    "read:pages": "See pages",
    "read:posts": "See posts and their figures",
    "write:posts": "Publish, schedule and change posts",
    "read:comments": "See comments",
    "write:comments": "Answer comments",
    "read:media": "See files",
    "write:media": "Upload and delete files",
    "write:pages": "Connect and unlink pages",
    "write:ai": "Create images, videos and captions (uses credits)",
    "manage:webhooks": "Manage webhooks",
    "manage:brands": "Manage brands and the people who work on them",
    "manage:tokens": "Manage tokens",
    "manage:account": "Manage the account",
}
#: What is done on a brand → the scopes that it takes, and who has them; the API's answer to POST
#: /auth/brands/{id}/session has the scopes of a role.
RIGHTS = (
    ("See posts, pages, comments and files", "read:posts read:pages read:comments read:media",
     ("owner", "full", "limited")),
    ("Write, schedule, change and cancel posts", "write:posts", ("owner", "full", "limited")),
    ("Answer comments", "write:comments", ("owner", "full", "limited")),
    ("Upload and delete files", "write:media", ("owner", "full", "limited")),
    ("Connect and unlink pages", "write:pages", ("owner", "full")),
    ("Create with AI (uses the owner’s credits)", "write:ai", ("owner", "full")),
    ("See the limits and credits of the account", "read:account", ("owner", "full")),
    ("Create webhooks and API tokens for this brand", "manage:webhooks", ("owner", "full")),
    ("Invite and remove people, see the activity", "manage:brands", ("owner",)),
    ("Change, archive and restore the brand", "manage:brands", ("owner",)),
)  # fmt: skip
#: Code of a refusal → the same in words for people: the API's own are for developers, who have tokens.
_DENIED = {
    "MISSING_SCOPE": "Your role does not permit this: ask the owner of the brand.",
    "BRAND_NOT_AUTHORIZED": "You have no access to this brand.",
}
EVENTS = {
    "post.published": "A post was published",
    "post.failed": "A post failed",
    "posts.held": "Posts are held",
    "first_comment.failed": "A first comment failed",
    "comment.received": "A comment came",
    "comment.replied": "A comment was answered",
    "page.expired": "A page’s connection ended",
    "page.connect.refused": "A page could not be connected",
    "account.quota.warning": "80 % of a monthly limit are used",
    "account.credits.adjusted": "AI credits were changed",
    "ai.job.completed": "An image or video was created",
    "ai.job.failed": "An image or video could not be created",
    "webhooks.disabled": "Webhooks were disabled",
}
#: What changed the AI credits.
LEDGER = {
    "grant": "Plan credits",
    "lapse": "Lapsed at the end of the month",
    "carry": "Carried over",
    "charge": "Used",
    "refund": "Given back",
    "purchase": "Bought, or added by support",
    "auto_refill": "Bought automatically",
    "referral": "For a referral",
    "clawback": "Taken back after a refund of the payment",
    "reinstatement": "Returned after a dispute",
    "collection": "Taken for credits that were owed",
}
#: Actors of the audit log that are no users.
ACTORS = {"operator": "Support", "system": "Posthaste"}
#: Action of the audit log → what the actor did.
_AUDITED = {
    "collaborator.set": "gave {person} {role} access to the brand",
    "collaborator.removed": "removed {person} from the brand",
    "collaborator.invited": "invited {person} to the brand, with {role} access",
    "collaborator.invitation_withdrawn": "withdrew the invitation of {person}",
    "collaborator.joined": "accepted an invitation, with {role} access",
    "collaborator.entered": "began to work on the brand in a browser, with {role} access",
    "email.changed": "signs in with another email address now",
    "totp.enabled": "turned on two-factor authentication",
    "totp.disabled": "turned off two-factor authentication of {person}",
    "token.created": "created the token {token}",
    "token.changed": "changed the token {token}",
    "token.rotated": "replaced the token {token}",
    "token.revoked": "revoked the token {token}",
    "posts.held": "held {posts} of {person}",
    "posts.released": "released {posts} of {person}",
    "posts.cancelled": "cancelled {posts} of {person}",
    "webhooks.disabled": "disabled {webhooks} of {person}",
    "post.brought_due": "sent a post on {page} before its scheduled time",
}
#: Why Posthaste held posts or disabled webhooks by itself.
_CAUSES = {
    "token_revoked": "The token that made them was revoked.",
    "collaborator_removed": "That person no longer works on the brand.",
    "collaborator removed": "The person no longer works on the brand.",
}
#: Days until a token ends → its label.
EXPIRIES = {"30": "In 30 days", "90": "In 90 days", "365": "In a year", "": "Never"}
ATTEMPT_ERRORS = {
    "status": "The server answered with an error",
    "timeout": "No answer within 10 seconds",
    "refused": "Connection refused",
    "unreachable": "Server not reachable",
    "unknown_host": "The host does not exist",
    "private_address": "The address is private",
    "tls": "The certificate is not valid",
    "disconnected": "Connection lost",
    "protocol": "The answer was not HTTP",
}
#: Part of a user agent → the browser. The first that fits, because Edge and Opera name Chrome and Safari too.
_BROWSERS = (
    ("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
)  # fmt: skip
_SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)  # fmt: skip
DELIVERY_STATES = {"delivered": "Delivered", "failed": "Failed", "pending": "Waiting", "skipped": "Skipped"}


def is_passing(code: str) -> bool:
    """Whether a person can simply retry a post that failed with this error, without changing the post or the page."""
    return code in _PASSING


def is_about_access(code: str, message: str) -> bool:
    """Whether a post failed because its platform no longer gives Posthaste access: the error's code says so, or its
    message ends with `(401)` or `(403)`. Then the person should look at the page's connection before the post.
    """
    return (
        code in ("PAGE_EXPIRED", "PAGE_PERMISSION_MISSING")
        or re.search(r"\((?:401|403)\)$", message) is not None
    )


def advice(code: str, platform: str, recommended_fix: str) -> str:
    """Returns what a person can do about a post's error, in a sentence with the platform's name."""
    return ADVICE.get(code, recommended_fix.replace("`", "")).replace("{platform}", PLATFORMS[platform])


def outcome(code: str, platform: str) -> str:
    """Returns the outcome of an attempt to publish a post, in a sentence with the platform's name."""
    return OUTCOMES.get(code, code).replace("{platform}", PLATFORMS[platform])


def audited(entry: AuditEntry, page_name: Callable[[str], str]) -> Markup:
    """Returns what an entry of the audit log says, as the rest of a sentence that begins with the actor."""
    told = entry.details
    token = Markup("“<bdi>{}</bdi>”").format(told.get("name") or "without a name")
    if told.get("issued_by") != entry.actor_id and entry.subject_email:
        token += Markup(" of <bdi>{}</bdi>").format(entry.subject_email)
    return Markup(_AUDITED.get(entry.action, "did: {action}")).format(
        action=entry.action,
        person=Markup("<bdi>{}</bdi>").format(entry.subject_email or told.get("email") or "somebody"),
        role=told.get("role", "some"),
        token=token,
        posts=count(told.get("count", 1), "post", "posts"),
        webhooks=count(len(told.get("webhook_ids", "1")), "webhook", "webhooks"),
        page=Markup("<bdi>{}</bdi>").format(page_name(told.get("page_id", ""))),
    )


def cause(entry: AuditEntry) -> str:
    """Returns a sentence about an entry of the audit log: why the action happened, or what it did not change. Empty if
    the entry tells neither.
    """
    if entry.details.get("kept"):
        return "Scheduled posts and webhooks stay as they were."
    reason = entry.details.get("reason", "")
    if entry.action == "post.brought_due" and reason:
        return f"Reason: {reason}"
    return _CAUSES.get(reason, "")


def cut(text: str, platform: str) -> tuple[str, str]:
    """Splits a post's text into the part that the platform shows at once (a guess), and the rest, which it hides."""
    most = _SHOWN_AT_ONCE.get(platform, len(text))
    if len(text) <= most:
        return text, ""
    end = text.rfind(" ", most // 2, most)
    end = end if end > 0 else most
    return text[:end], text[end:]


def files(media: Iterable[MediaItem]) -> str:
    """Returns what a post has attached: `2 photos`, `1 photo, 1 video`; empty for a post of text alone."""
    kinds = [it.type for it in media]
    return attached(kinds.count("photo"), kinds.count("video"))


def attached(photos: int, videos: int) -> str:
    """Returns numbers of photos and videos as text: `1 photo, 2 videos`; empty for none."""
    counts = ((photos, "photo", "photos"), (videos, "video", "videos"))
    return ", ".join(count(number, one, many) for number, one, many in counts if number)


def field_name(field: str | None) -> str:
    """Returns the label of a field of the API, as the screens name it; empty for a field that they do not have."""
    name, _, setting = (field or "").partition("[")[0].partition(".")
    return label_of(setting.partition(".")[0]) if name.endswith("_settings") else _FIELDS.get(name, "")


def label_of(name: str) -> str:
    """Returns a setting's name as people read it: `share_to_feed` is "Share to feed"."""
    return name.replace("_", " ").capitalize().replace(" ai ", " AI ").replace(" ms", " (ms)")


def beside(field: str | None) -> str:
    """Returns the part of the form for a post (one of FIELDS) beside which the form shows an error or a warning about
    `field`, a field of the API. Returns `settings` for a field that FIELDS does not cover, and an empty text for none.
    """
    name = (field or "").partition("[")[0].partition(".")[0]
    return next((of for of, names in _BESIDE.items() if name in names), "settings" if name else "")


def with_code(message: str) -> str:
    """Returns a platform's own error with the code at its end named as such: `Try later. (error 2)`."""
    return re.sub(r" \(([^()\s]+)\)$", r" (error \1)", message)


def fields_of(error: ApiError) -> list[FieldError]:
    """Returns the messages of an error, one for each field that it names. If it names none, returns its own message
    with an empty field.
    """
    return list(error.fields) or [FieldError("", _DENIED.get(error.code, error.message))]


def said(error: ApiError) -> str:
    """Returns all messages of an error as one paragraph of plain words."""
    return " ".join(plainly(it.field, it.message) for it in fields_of(error))


def plainly(field: str | None, message: str) -> str:
    """Returns a message of the API in plain words. Leaves out the field's name at its beginning, and explains a message
    about a value of a wrong type.
    """
    text = message.removeprefix(f"{field}: ")
    for misfit, words in _MISFITS:
        if found := re.fullmatch(misfit, text):
            return found.expand(words)
    return text


#: The API counts the posts of a state up to this number.
MOST_COUNTED = 1_000


def count(number: int, one: str, many: str) -> str:
    """Returns a number with its noun: `1 post`, `2 posts`."""
    return f"{number:,} {one if number == 1 else many}"


def size(number: int) -> str:
    """Returns a number of bytes as people read it, with at most three figures: `1.5 MB`, `291 kB`, `5 GB`.

    A unit is 1,024 of the next smaller one, as in the limits of the plans.
    """
    for unit, bytes_ in (("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if number >= 0.9995 * bytes_:
            return f"{float(f'{number / bytes_:.3g}'):,g} {unit}"
    return count(number, "byte", "bytes")


def length_of(seconds: float) -> str:
    """Returns the length of a video as text: `0:05`, `1:02:03`."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def took(seconds: float) -> str:
    """Returns how long something took: `55 ms`, `1.2 s`, `130 s`. A line never breaks before the unit."""
    return f"{round(1000 * seconds)}\xa0ms" if seconds < 1 else f"{seconds:.3g}\xa0s"


def initials(name: str) -> str:
    """Returns one or two letters that stand for a linked page."""
    words = [word for word in name.split() if word[:1].isalnum()]
    return "".join(word[0] for word in words[:2]).upper() or "?"


def breakable(email: str) -> Markup:
    """Returns an email address as HTML that a line may break after the @."""
    return Markup("@<wbr>").join(email.split("@"))


def browser_name(user_agent: str) -> str:
    """Returns the name of browser and system as people know them; for other programs the user agent itself."""
    browser = next((name for sign, name in _BROWSERS if sign in user_agent), "")
    system = next((name for sign, name in _SYSTEMS if sign in user_agent), "")
    if not browser:
        return user_agent or "Unknown browser"
    return f"{browser} on {system}" if system else browser
