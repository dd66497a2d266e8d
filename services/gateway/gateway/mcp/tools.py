"""Defines the tools that AI assistants may call, and turns a tool's call into a request to the API. Each tool is one
operation of the API. Pure.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import msgspec

from contracts.caller import Caller
from gateway import BASE_PATH
from gateway.endpoint import Endpoint
from gateway.openapi.schemas import whole_schema
from gateway.routes import ai, comments, introspection, media, pages, posts

#: The argument that becomes the header Idempotency-Key.
KEY = "idempotency_key"
_KEY_SCHEMA = {
    "type": "string",
    "minLength": 1,
    "maxLength": 120,
    "description": "Any text of your own. A call repeated with the same key has no second effect: use a new key for "
    "each thing you want done, and the same key when you repeat a call that failed or got no answer.",
}


@dataclass(frozen=True)
class Tool:
    """One operation of the API, as assistants see it."""

    name: str
    endpoint: Endpoint
    title: str
    #: When to use it. What its arguments mean is in their schema.
    description: str
    _: KW_ONLY
    #: Whether an operation that is not GET changes nothing.
    dry: bool = False
    #: Whether the operation removes or overwrites something.
    destructive: bool = False
    #: Whether the operation acts outside this installation: on a platform or at an AI provider.
    reaches_out: bool = False

    @property
    def reads(self) -> bool:
        return self.dry or self.endpoint.method == "GET"

    def is_for(self, caller: Caller) -> bool:
        """Whether the caller holds the scope that the operation needs."""
        return self.endpoint.scope is None or caller.has_scope(self.endpoint.scope)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """Returns the JSON Schema of the tool's arguments: the request's fields, and for writes an idempotency key."""
        schema = whole_schema(self.endpoint.request)
        properties = dict(schema.get("properties", {}))
        if self.has_key:
            properties[KEY] = _KEY_SCHEMA
        kept = {name: schema[name] for name in ("required", "$defs") if schema.get(name)}
        return {"type": "object", "properties": properties, "additionalProperties": False, **kept}

    @property
    def has_key(self) -> bool:
        return bool(self.endpoint.idempotent) and not self.dry

    @cached_property
    def listed(self) -> dict[str, Any]:
        """Returns the tool as an entry of the list of tools."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": {
                "readOnlyHint": self.reads,
                "destructiveHint": self.destructive,
                "idempotentHint": self.reads,
                "openWorldHint": self.reaches_out,
            },
        }


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "get_account", introspection.get_account, "Account and quotas",
            "What is left of the plan's posts, replies, storage and AI credits, and what this token may do.",
        ),
        Tool(
            "list_pages", pages.list_pages, "List pages",
            "The connected pages of Facebook, Instagram, LinkedIn, TikTok, X and YouTube, with their ids and brands, "
            "which the other tools need. A page with the status expired must be connected again by its owner.",
        ),
        Tool(
            "validate_post", posts.validate_post, "Check a post",
            "Checks a post on one page (page_id) or up to twenty (page_ids) against the rules of its platform and the "
            "account's limits without sending it. Call this before publish_post or schedule_post, and correct what it "
            "finds.",
            dry=True,
        ),
        Tool(
            "publish_post", posts.publish_post, "Publish a post now",
            "Publishes on one page (page_id) or up to twenty (page_ids) at once. It is public and cannot be taken back "
            "here: ask the person first unless they told you to post. Always send an idempotency_key. After the error "
            "PLATFORM_OUTCOME_UNKNOWN do not post again: call get_post with its post_id.",
            reaches_out=True,
        ),
        Tool(
            "schedule_post", posts.schedule_post, "Schedule a post",
            "Publishes later, at scheduled_at, which must have a time zone, such as 2026-12-24T18:00:00+01:00. Images "
            "and videos by address go into media_urls, uploaded ones into media_ids.",
        ),
        Tool(
            "list_scheduled_posts", posts.list_scheduled_posts, "List scheduled posts",
            "Posts that wait, are held or have failed, soonest first; failed ones tell why.",
        ),
        Tool(
            "get_post", posts.get_post, "Show a post",
            "Any post by its id: its state, its times, its attempts, and what to do about each error.",
        ),
        Tool(
            "edit_post", posts.edit_post, "Edit a scheduled post",
            "Changes text, media or time of a post that has not gone out. Only the fields that you send change.",
            destructive=True,
        ),
        Tool(
            "cancel_post", posts.cancel_post, "Cancel a scheduled post",
            "Removes a post that has not gone out. A published post cannot be removed here.",
            destructive=True,
        ),
        Tool(
            "retry_post", posts.retry_post, "Retry a failed post",
            "Queues a failed post again, after what made it fail has been mended.",
        ),
        Tool(
            "list_published_posts", posts.list_published_posts, "List published posts",
            "What has gone out, newest first, with links and counts of likes, comments and shares.",
        ),
        Tool(
            "get_engagement", posts.get_engagement, "Engagement of a post",
            "Fresh counts of likes, comments, shares and views of a published post, from its platform.",
            reaches_out=True,
        ),
        Tool(
            "list_comments", comments.list_comments, "List comments",
            "Comments on a post, with their ids.",
            reaches_out=True,
        ),
        Tool(
            "reply_to_comment", comments.reply_to_comment, "Reply to a comment",
            "Answers publicly in the page's name: show the text to the person first unless they told you to answer.",
            reaches_out=True,
        ),
        Tool(
            "list_media", media.list_media, "List media",
            "Uploaded and generated files, with their ids for media_ids.",
        ),
        Tool(
            "write_caption", ai.write_caption, "Write a caption",
            "Writes a text for a post with AI. Costs credits.",
            reaches_out=True,
        ),
        Tool(
            "generate_image", ai.generate_image, "Generate an image",
            "Makes an image with AI and stores it as a file for media_ids. Costs credits.",
            reaches_out=True,
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """The parts of the API request that carries out a tool's call. `key`: its idempotency key, if there is one."""

    path: str
    path_values: dict[str, str]
    query: str
    body: bytes
    key: str | None


def call_of(tool: Tool, arguments: Mapping[str, Any]) -> Call:
    """Returns the API request that carries out a tool's call with these arguments.

    Raises ValueError for an unknown argument, for an idempotency key that is not text, and if a value in the request's
    path is missing or not text. The API checks the other arguments later.
    """
    known = tool.input_schema["properties"]
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        raise ValueError(f"There is no argument {unknown[0]!r}. {tool.name} has: {', '.join(known)}.")
    given = {
        name: value
        for name, value in arguments.items()
        if value is not None or tool.endpoint.reader.takes_body
    }
    key = given.pop(KEY, None)
    if key is not None and not isinstance(key, str):
        raise ValueError(f"{KEY} must be text.")
    path = tool.endpoint.path
    path_values: dict[str, str] = {}
    for name in tool.endpoint.path_names:
        if not isinstance(given.get(name), str):
            raise ValueError(f"{name} is required, as text.")
        path_values[name] = given.pop(name)
        path = path.replace(f"{{{name}}}", path_values[name])
    takes_body = tool.endpoint.reader.takes_body
    return Call(
        path=BASE_PATH + path,
        path_values=path_values,
        query="" if takes_body else urlencode({name: _as_text(value) for name, value in given.items()}),
        body=msgspec.json.encode(given) if takes_body else b"",
        key=key,
    )


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
