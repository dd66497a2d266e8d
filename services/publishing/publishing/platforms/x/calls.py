"""Calls X's API, and concludes the outcome of a call from its answer or from a missing answer."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from publishing.platforms.base import Account, OutcomeUnknown, PlatformRefusal
from publishing.platforms.http_client import (
    Answer,
    HttpClient,
    Response,
    bearer,
    objects,
    required,
    transient,
    unrecognised,
)
from publishing.platforms.lists import page_numbers
from publishing.platforms.uploads.multipart import Multipart
from publishing.platforms.x.errors import problem_of, refusal_from
from publishing.platforms.x.settings import XSettings

#: X's two names of the parameter for a post's fields. Its description of July 2026 (xdk, `specs/openapi.json` 2.167)
#: knows only the second, its documentation of August 2026 only the first.
_FIELD_NAMES = ("tweet.fields", "post.fields")
#: Fields that have another name with the second parameter, and fields that are expansions with it.
_RENAMED = {"note_tweet": "note_post"}
_EXPANDED = {"referenced_tweets": "referenced_posts", "author_id": "author_id"}
_BAD_PARAMETER = "invalid-request"
#: Pages of 100 posts that a look-up reads at most: X takes 100 posts in 15 minutes.
_PAGES_READ = 10
_ROWS_PER_PAGE = 100


class Calls:
    """Calls to X's API. Every method raises PlatformRefusal if X refuses; `create` also raises OutcomeUnknown."""

    def __init__(self, settings: XSettings) -> None:
        self._base = f"{settings.api_url.rstrip('/')}/2"
        self._fields_parameter = settings.fields_parameter
        self._http = HttpClient(settings)

    def read(self, account: Account, path: str, post_fields: str | None = None, **params: Any) -> Answer:
        """Sends a GET, which may be repeated. The argument `user__fields` becomes the parameter `user.fields`.

        `post_fields`: the fields of posts to ask for, named as in the parameter `tweet.fields`. Some versions of X know
        the parameter `post.fields` instead, which has other names. If X refuses or ignores one parameter, this method
        tries the other, and remembers which one works.

        Raises PlatformRefusal if both parameters fail, because a look-up must not compare posts without these fields.
        """
        query = {name.replace("__", "."): value for name, value in params.items() if value is not None}
        if not post_fields:
            return self._get(account, path, query)
        name = self._fields_parameter
        try:
            answer = self._get(account, path, _with_fields(query, name, post_fields))
            if _has_fields(answer, post_fields):
                return answer
            first = transient("NO_FIELDS", "X's answer lacks the fields of posts that were asked for.")
        except PlatformRefusal as refusal:
            if refusal.code != _BAD_PARAMETER:
                raise
            first = refusal
        other = next(other for other in _FIELD_NAMES if other != name)
        with suppress(PlatformRefusal):
            answer = self._get(account, path, _with_fields(query, other, post_fields))
            if _has_fields(answer, post_fields):
                self._fields_parameter = other
                return answer
        raise first

    @property
    def shows_references(self) -> bool:
        """Whether X's answers surely tell which posts a post replies to, quotes or reposts (its references). If so, a
        post without references is not a reply.

        This is not certain if we ask with the parameter `post.fields`.
        """
        return self._fields_parameter == _FIELD_NAMES[0]

    def _get(self, account: Account, path: str, query: Answer) -> Answer:
        url = f"{self._base}/{path}"
        return self._call("GET", account, f"{url}?{urlencode(query)}" if query else url)

    def own_posts(self, account: Account, start: datetime, post_fields: str) -> Iterator[Answer]:
        """Yields the account's posts and replies made since `start`, newest first."""
        path, token = f"users/{quote(account.remote_account_id, safe='')}/tweets", None
        for _ in page_numbers(_PAGES_READ):
            answer = self.read(
                account,
                path,
                post_fields,
                start_time=timestamp(start),
                max_results=_ROWS_PER_PAGE,
                pagination_token=token,
            )
            yield from objects(answer.get("data"))
            token = (answer.get("meta") or {}).get("next_token")
            if not token:
                return

    def stage(self, account: Account, path: str, data: Answer | Multipart | None = None) -> Answer:
        """Sends a POST that makes nothing visible, so it may be repeated. Returns the answer."""
        return self._call("POST", account, f"{self._base}/{path}", data)

    def create(self, account: Account, data: Answer) -> str:
        """Sends a post or reply once and returns its id."""
        made = self._call("POST", account, f"{self._base}/tweets", data, visible=True).get("data")
        return required(made if isinstance(made, dict) else {}, "id", visible=True)

    def delete(self, account: Account, post_id: str) -> bool:
        """Deletes a post. May be repeated. Returns whether X confirms the deletion."""
        answer = self._call("DELETE", account, f"{self._base}/tweets/{quote(post_id, safe='')}").get("data")
        return isinstance(answer, dict) and answer.get("deleted") is True

    def _call(
        self,
        method: str,
        account: Account,
        url: str,
        data: Answer | Multipart | None = None,
        *,
        visible: bool = False,
    ) -> Answer:
        headers = bearer(account)
        body: bytes | Multipart | None
        if isinstance(data, dict):
            headers["Content-Type"], body = "application/json", json.dumps(data).encode()
        else:
            body = data
        return body_of(self._http.send(method, url, headers=headers, body=body, visible=visible), visible)


def _with_fields(query: Answer, parameter: str, post_fields: str) -> Answer:
    """Returns the query with `parameter`, which asks X for these fields of posts.

    `post_fields` has the names of the parameter `tweet.fields`, separated by commas. For `post.fields` they are
    translated.
    """
    fields, expansions = post_fields.split(","), str(query.get("expansions") or "").split(",")
    if parameter != _FIELD_NAMES[0]:
        expansions += [_EXPANDED[field] for field in fields if field in _EXPANDED]
        fields = [_RENAMED.get(field, field) for field in fields if field not in _EXPANDED]
    more = {"expansions": ",".join(dict.fromkeys(filter(None, expansions)))}
    return query | {parameter: ",".join(fields)} | (more if more["expansions"] else {})


def _has_fields(answer: Answer, post_fields: str) -> bool:
    """Whether the posts in the answer have the requested fields.

    The field `created_at` shows it: every post has it unless X ignored the request.
    """
    found = answer.get("data")
    posts = [found] if isinstance(found, dict) else objects(found)
    return (
        "created_at" not in post_fields.split(",") or not posts or any("created_at" in post for post in posts)
    )


def body_of(response: Response, visible: bool) -> Answer:
    """Returns the body if the answer reports success; otherwise raises PlatformRefusal.

    `visible`: the call makes something visible on the platform. If such a call may have worked in spite of a bad
    answer, raises OutcomeUnknown instead.
    """
    problem = problem_of(response.body)
    if response.is_good and isinstance(response.body, dict) and (problem is None or "data" in response.body):
        return response.body
    if problem is None:
        raise unrecognised(response, visible)
    if visible and (response.status >= 500 or response.is_good):
        raise OutcomeUnknown(f"HTTP {response.status}: {problem.get('title')}")
    raise refusal_from(problem, response.status, response.headers, visible)


def timestamp(moment: datetime) -> str:
    """Returns a time in X's format, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
