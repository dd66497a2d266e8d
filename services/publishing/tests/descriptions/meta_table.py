"""The Graph API for Facebook Pages and Instagram."""

import re
from collections.abc import Mapping

from .description import FORM, MULTIPART, Description, Operation
from .meta_names import ENUMS, FIELDS, PARAMS, PERMISSIONS
from .shapes import Shape, anything, flag, list_of, named, one_of, record, text, whole

_GRAPH, _VIDEOS = "https://graph.facebook.com/v26.0", "https://graph-video.facebook.com/v26.0"
_SOURCE = (
    "facebook-business 26.0.3 (adobjects: parameter types, enums and fields of each class), for what it lacks"
    " developers.facebook.com/docs (graph-api, instagram-platform, facebook-login, permissions). Read on 23"
    " November 2026."
)

#: The type of a field that is an object.
_INNER = {
    ("Page", "instagram_business_account"): "IGUser", ("Post", "from"): "Profile", ("Comment", "from"): "Profile",
    ("Comment", "parent"): "Comment", ("Post", "attachments"): "Attachment", ("Attachment",
        "subattachments"): "Attachment",
    ("IGComment", "from"): "Profile", ("IGComment", "replies"): "IGComment",
}  # fmt: skip
_MODIFIERS = ["limit", "summary", "type", "filter", "order"]


def fields_of(node: str) -> Shape:
    """Returns the shape of a list of a node's fields, such as `id,from{name},comments.limit(0).summary(true)`. Braces
    hold the fields of an inner object.
    """

    def check(name: str, value: object) -> list[str]:
        found = []
        for part in re.findall(r"(?:[^,{(]|\{(?:[^{}]|\{[^{}]*\})*\}|\([^)]*\))+", str(value)):
            match = re.fullmatch(r"(\w+)((?:\.\w+\([^()]*\))*)(?:\{(.*)\})?", part)
            if match is None or match[1] not in FIELDS[node].split():
                found.append(f"{name}: {node} has no field {part!r}")
                continue
            found += [
                f"{name}: unknown .{one}()"
                for one in re.findall(r"\.(\w+)\(", match[2])
                if one not in _MODIFIERS
            ]
            inner = _INNER.get((node, match[1]))
            if match[3] is not None:
                found += fields_of(inner)(name, match[3]) if inner else [f"{name}: {match[1]} is no object"]
        return found

    return check


def _read(node: str, path: str, *scopes: str, host: str = _GRAPH, **query: Shape) -> Operation:
    return Operation(
        method="GET",
        url=f"{host}/{path}",
        query={"fields": fields_of(node), **query},
        required=("fields",),
        scopes=scopes,
    )


def _list(node: str, path: str, *scopes: str, **query: Shape) -> Operation:
    return _read(node, path, *scopes, **{"limit": whole(1, 100), "after": text(), **query})


def _write(
    path: str, *scopes: str, fields: Mapping[str, Shape], required: tuple[str, ...] = (), host: str = _GRAPH,
    answers: str = "", file: str = "",
) -> Operation:  # fmt: skip
    """Returns a call that writes. `answers`: the node whose fields the answer may contain. `file`: the field that holds
    a file.
    """
    bodies = {FORM: record(fields, required)}
    if file:
        bodies[MULTIPART] = record({**fields, file: anything}, (*required, file))
    query = {"fields": fields_of(answers)} if answers else {}
    return Operation(method="POST", url=f"{host}/{path}", bodies=bodies, query=query, scopes=scopes)


def _login(scopes: str) -> tuple[Operation, ...]:
    """Returns the calls of Facebook's login with these permissions."""
    return (
        Operation(
            method="GET", url="https://www.facebook.com/v26.0/dialog/oauth",
            required=("client_id", "redirect_uri", "state"),
            query={
                **named("client_id redirect_uri state config_id", text()), "scope": list_of(scopes),
                "response_type": one_of("code token"), "auth_type": one_of("rerequest reauthenticate reauthorize"),
            },
        ),
        Operation(
            method="GET", url=f"{_GRAPH}/oauth/access_token", required=("client_id", "client_secret"),
            query={
                **named("client_id client_secret redirect_uri code fb_exchange_token", text()),
                "grant_type": one_of("fb_exchange_token client_credentials"),
            },
        ),
        Operation(
            method="GET", url=f"{_GRAPH}/debug_token", required=("input_token",), query={"input_token": text()}
        ),
        _read("User", "me"),
        Operation(method="GET", url=f"{_GRAPH}/me/permissions", query=named("permission status", text())),
        _list("Page", "me/accounts", "pages_show_list", is_place=flag, is_promotable=flag),
        _list("Business", "me/businesses", "business_management"),
        _list("Page", "{business}/owned_pages", "business_management"),
        _list("Page", "{business}/client_pages", "business_management"),
    )  # fmt: skip


_COMMON = {"access_token": text(), "appsecret_proof": text(r"[0-9a-f]{64}")}
_IDS = {
    "page": "1001", "post": r"1001_\d+", "comment": r"1001_\d+_\d+", "video": r"2\d{3}", "photo": r"3\d{3}",
    "business": r"4\d{3}", "account": "17841", "container": r"179\d", "media": r"180\d", "igcomment": r"1785\d",
}  # fmt: skip
_COMMENTS = {"filter": one_of("stream toplevel"), "order": one_of(ENUMS["order"]), "since": text(r"\d+")}

FACEBOOK = Description(
    source=_SOURCE, common=_COMMON, ids=_IDS,
    operations=(
        *_login(PERMISSIONS),
        _read("Page", "{page}", "pages_read_engagement"),
        _write("{page}/feed", "pages_manage_posts", fields=PARAMS["feed"], answers="Post"),
        _write("{page}/photos", "pages_manage_posts", fields=PARAMS["photos"], file="source"),
        Operation(method="DELETE", url=f"{_GRAPH}/{{photo}}", scopes=("pages_manage_posts",)),
        _read("Post", "{post}", "pages_read_engagement"),
        _list("Post", "{page}/published_posts", "pages_read_engagement", since=text(r"\d+")),
        _write("{page}/videos", "pages_manage_posts", fields=PARAMS["videos"], host=_VIDEOS),
        _write("{page}/videos", "pages_manage_posts", fields=PARAMS["videos"], host=_VIDEOS, file="video_file_chunk"),
        # By the file's address, where Facebook takes no pieces.
        _write("{page}/videos", "pages_manage_posts", fields=PARAMS["videos"], required=("file_url",)),
        _read("Video", "{video}", "pages_read_engagement"),
        _write("{post}/comments", "pages_manage_engagement", fields=PARAMS["comments"], required=("message",)),
        _write("{comment}/comments", "pages_manage_engagement", fields=PARAMS["comments"], required=("message",)),
        _list("Comment", "{post}/comments", "pages_read_user_content", **_COMMENTS),
        _list("Comment", "{comment}/comments", "pages_read_user_content", **_COMMENTS),
        _read("Comment", "{comment}", "pages_read_user_content"),
        _write(
            "{page}/subscribed_apps", "pages_manage_metadata", required=("subscribed_fields",),
            fields={"subscribed_fields": list_of(ENUMS["of_page"])},
        ),
    ),
)  # fmt: skip

_BASIC = "instagram_basic pages_read_engagement"
INSTAGRAM = Description(
    source=_SOURCE, common=_COMMON, ids=_IDS,
    operations=(
        *_login(PERMISSIONS),
        _read("IGUser", "{account}", _BASIC),
        _write("{account}/media", f"{_BASIC} instagram_content_publish", fields=PARAMS["ig_media"]),
        _write(
            "{account}/media_publish", f"{_BASIC} instagram_content_publish", fields={"creation_id": text(r"\d+")},
            required=("creation_id",),
        ),
        _read("Container", "{container}", _BASIC),
        _list("IGMedia", "{account}/media", _BASIC),
        _read("IGMedia", "{media}", _BASIC),
        Operation(
            method="GET", url=f"{_GRAPH}/{{media}}/insights", required=("metric",),
            scopes=(f"{_BASIC} instagram_manage_insights",),
            query={"metric": list_of(ENUMS["metric"]), "period": list_of(ENUMS["period"]), "breakdown": text()},
        ),
        _write("{media}/comments", f"{_BASIC} instagram_manage_comments", fields={"message": text()},
            required=("message",)),
        _write(
            "{igcomment}/replies", f"{_BASIC} instagram_manage_comments", fields={"message": text()},
            required=("message",)
        ),
        _list("IGComment", "{media}/comments", f"{_BASIC} instagram_manage_comments"),
        _list("IGComment", "{igcomment}/replies", f"{_BASIC} instagram_manage_comments"),
        _read("IGComment", "{igcomment}", f"{_BASIC} instagram_manage_comments"),
        _read("PublishingLimit", "{account}/content_publishing_limit", f"{_BASIC} instagram_content_publish"),
        # The page's, by its token.
        _write(
            "me/subscribed_apps", "pages_manage_metadata", required=("subscribed_fields",),
            fields={"subscribed_fields": list_of(ENUMS["of_page"])},
        ),
        # The account's own, with Instagram's login.
        _write(
            "{account}/subscribed_apps", "instagram_basic instagram_manage_comments", required=("subscribed_fields",),
            fields={"subscribed_fields": list_of(ENUMS["of_account"])},
        ),
    ),
)  # fmt: skip
