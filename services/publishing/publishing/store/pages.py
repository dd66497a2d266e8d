"""SQL of linked pages."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from chassis.db.database import Prepared
from chassis.ids import is_id
from contracts import publishing as api
from contracts.platforms import PLATFORMS
from publishing.page_models import pages
from publishing.records import PageRow, column_names

#: Selects pages with the columns in the order of PageRow's fields.
_ALL = select(*(pages.c[name] for name in column_names(PageRow)))
#: The columns of a page that clients see.
_SHOWN = (
    "id, platform, name, username, remote_account_id, brand_id, brand_name,"
    " followers, picture, expired, created_at, checked_at, missing_permissions, token_expires_at"
)
_PLATFORMS = f"ARRAY[{', '.join(repr(platform.code) for platform in PLATFORMS.values())}]"
# Built once: composing a statement costs as much as running it.
_ONE = _ALL.where(pages.c.id == bindparam("id"))
_ONE_WITH_TIME = Prepared(_ONE.add_columns(clock_now().label("now")))
#: Keeps the page from being unlinked; other changes are possible meanwhile.
_LINKED_WITH_TIME = Prepared(
    _ONE.add_columns(clock_now().label("now")).with_for_update(read=True, key_share=True, of=pages)
)
_REST = text(
    """
    UPDATE pages SET rest_until = greatest(rest_until, clock_timestamp() + make_interval(secs => :wait))
    WHERE id = :id
    """
)
_CLAIM_SUBSCRIPTIONS = text(
    """
    UPDATE pages SET subscribe_tries = subscribe_tries + 1,
        subscribe_at = clock_timestamp() + make_interval(secs => :lease)
    WHERE id IN (SELECT id FROM pages WHERE subscribe_at <= clock_timestamp() ORDER BY subscribe_at LIMIT :limit
        FOR UPDATE SKIP LOCKED)
    RETURNING *
    """
)
_END_SUBSCRIPTION = text(
    """
    UPDATE pages SET subscribed = subscribed OR :done,
        subscribe_at = clock_timestamp() + make_interval(secs => CAST(:wait AS float8))
    WHERE id = :id AND subscribe_tries = :tries
    """
)
#: Selects the last post of the page `of_page` that the platform refused, unless a later post was published. Reads one
#: index entry for a page without a refusal, and up to two more for a page with one.
_LAST_REFUSAL = """
    SELECT post_id, error_code, error_message, refused_at FROM (
        SELECT id AS post_id, error_code, error_message, refused_at FROM posts
        WHERE page_id = of_page AND state = 'failed' AND refused_at IS NOT NULL ORDER BY refused_at DESC LIMIT 1
    ) AS last WHERE (
        SELECT true FROM posts WHERE page_id = of_page AND state = 'published'
            AND out_at BETWEEN last.refused_at AND clock_now() LIMIT 1
    ) IS NULL
"""
_LAST_REFUSALS = Prepared(
    f"SELECT of_page, refusal.* FROM unnest(%(page_ids)s::text[]) AS of_page, LATERAL ({_LAST_REFUSAL}) AS refusal"
)


@cache
def _newest(of_brands: bool, of_platform: bool, from_there: bool) -> Prepared:
    """Builds the statement of `Pages.newest`, the API's busiest list, with each page's last refusal. The arguments say
    whether it is limited to brands, whether it is limited to a platform, and whether it begins at a position.

    Pages of brands are read from the first rows of index ranges, one for each brand and platform. The condition on the
    account stands outside these ranges: otherwise the planner would choose the account's index and read all its pages.
    """
    own = "unlinked_at IS NULL"
    if from_there:
        own += " AND (created_at, id) < (%(created_at)s, %(id)s)"
    end = "ORDER BY created_at DESC, id DESC LIMIT %(limit)s"
    of_one = " AND platform = %(platform)s" if of_platform else ""
    listed = f"SELECT {_SHOWN} FROM pages WHERE account_id = %(account_id)s AND {own}{of_one} {end}"
    if of_brands:
        platforms = "ARRAY[%(platform)s::text]" if of_platform else _PLATFORMS
        listed = f"""
        SELECT {_SHOWN} FROM unnest(%(brand_ids)s::text[]) AS of_brand, unnest({platforms}) AS of_platform, LATERAL (
            SELECT {_SHOWN}, account_id FROM pages WHERE brand_id = of_brand AND platform = of_platform AND {own} {end}
        ) AS head WHERE account_id = %(account_id)s {end}
        """
    return Prepared(
        f"""
        SELECT {_SHOWN}, refusal.* FROM ({listed}) AS listed CROSS JOIN LATERAL (SELECT id AS of_page) AS named
        LEFT JOIN LATERAL ({_LAST_REFUSAL}) AS refusal ON true ORDER BY created_at DESC, id DESC
        """
    )


@cache
def _link(names: tuple[str, ...], is_pushed: bool) -> Any:
    """Builds the statement of `Pages.link`. `names`: the columns for which the page has values. `is_pushed`: as for
    `Pages.link`.
    """
    asked = {"subscribe_at": func.clock_timestamp() if is_pushed else None, "subscribe_tries": 0}
    statement = insert(pages).values(created_at=clock_now(), **asked)
    kept = ("id", "created_at", "brand_id", "platform", "remote_account_id")
    repaired = {name: statement.excluded[name] for name in (*names, *asked) if name not in kept} | {
        "expired": False,
        "unlinked_at": None,
        "checked_at": None,
        "missing_permissions": None,
        "token_expires_at": None,
        "renew_lease_until": None,
        "renew_fence": pages.c.renew_fence + 1,
        "renew_tries": 0,
    }
    return statement.on_conflict_do_update(
        index_elements=["brand_id", "platform", "remote_account_id"], set_=repaired
    ).returning(pages)


def _refusal(
    post_id: str | None, code: str, message: str | None, refused_at: datetime
) -> api.LastRefusal | None:
    """Returns the refusal in the columns of `_LAST_REFUSAL`; None if they are null."""
    if post_id is None:
        return None
    return api.LastRefusal(post_id=post_id, code=code, message=message or "", refused_at=refused_at)


class Subscription(NamedTuple):
    """A claimed page that must be subscribed to its platform's webhooks about comments."""

    page: PageRow
    #: The number of tries, including this one; linking the page again starts at 1.
    tries: int


class Pages:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get_with_time(self, page_id: str) -> tuple[PageRow | None, datetime]:
        """Returns the page and the database's time, in one round trip. Without such a page the time has no meaning."""
        if not is_id(page_id):
            return None, datetime.min
        rows = _ONE_WITH_TIME.fetch(self._connection, {"id": page_id})
        return (PageRow(*rows[0][:-1]), rows[0][-1]) if rows else (None, datetime.min)

    def lock_with_time(self, page_id: str) -> tuple[PageRow | None, datetime]:
        """Returns the page and the database's time. The page cannot be unlinked before the transaction ends."""
        rows = _LINKED_WITH_TIME.fetch(self._connection, {"id": page_id})
        return (PageRow(*rows[0][:-1]), rows[0][-1]) if rows else (None, datetime.min)

    def get(self, page_id: str) -> PageRow | None:
        if not is_id(page_id):
            return None
        row = self._connection.execute(_ONE, {"id": page_id}).mappings().first()
        return PageRow.of(row) if row else None

    def many(self, page_ids: list[str]) -> dict[str, PageRow]:
        if not page_ids:
            return {}
        rows = self._connection.execute(select(pages).where(pages.c.id.in_(page_ids))).mappings()
        return {row["id"]: PageRow.of(row) for row in rows}

    def link(self, values: dict[str, Any], *, is_pushed: bool = False) -> PageRow:
        """Adds the page, or updates the brand's page for the same platform account.

        `is_pushed`: the page must be subscribed to its platform's webhooks about comments.
        """
        row = self._connection.execute(_link(tuple(values), is_pushed), values).mappings()
        return PageRow.of(row.one())

    def expire(self, page: PageRow) -> PageRow | None:
        """Marks a page as expired. Returns None when it is expired already, or has other credentials by now."""
        return self._changed(
            update(pages)
            .where(pages.c.id == page.id, pages.c.access_token == page.access_token, ~pages.c.expired)
            .values(expired=True, renew_at=None)
        )

    def linked_accounts(self, brand_id: str, platform: str) -> set[str]:
        """Returns the platform's ids of the accounts that are linked to a brand."""
        statement = select(pages.c.remote_account_id).where(
            pages.c.brand_id == brand_id, pages.c.platform == platform, pages.c.unlinked_at.is_(None)
        )
        return set(self._connection.execute(statement).scalars())

    def lock(self, page_id: str) -> PageRow | None:
        """Locks the page until the transaction ends and returns it."""
        if not is_id(page_id):
            return None
        row = self._connection.execute(_ONE.with_for_update(), {"id": page_id}).mappings().first()
        return PageRow.of(row) if row else None

    def unlink(self, page_id: str) -> None:
        """Marks the page as unlinked: nothing more is sent to it, and its credentials are due to be revoked."""
        values = {
            "unlinked_at": clock_now(), "expired": True, "subscribed": False, "subscribe_at": None,
            "renew_at": clock_now(), "renew_lease_until": None, "renew_tries": 0,
            "renew_fence": pages.c.renew_fence + 1,
        }  # fmt: skip
        self._connection.execute(update(pages).where(pages.c.id == page_id).values(values))

    def set_profile(
        self,
        page_id: str,
        name: str,
        username: str | None,
        followers: int,
        picture: str | None,
        message_limit: int | None,
    ) -> None:
        values = {
            "name": name, "username": username, "followers": followers, "picture": picture,
            "message_limit": func.coalesce(message_limit, pages.c.message_limit),
        }  # fmt: skip
        self._connection.execute(update(pages).where(pages.c.id == page_id).values(values))

    def set_check(self, found: api.PageHealth) -> None:
        """Stores what a check of the connection has found."""
        missing = found.missing_permissions
        values = {
            "checked_at": found.checked_at,
            "missing_permissions": None if missing is None else list(missing),
            "token_expires_at": found.token_expires_at,
        }
        self._connection.execute(update(pages).where(pages.c.id == found.page_id).values(values))

    def _changed(self, statement: Any) -> PageRow | None:
        row = self._connection.execute(statement.returning(pages)).mappings().first()
        return PageRow.of(row) if row else None

    def rest(self, page_id: str, wait_seconds: float) -> None:
        """Stores that the platform takes no calls for the page for `wait_seconds`."""
        self._connection.execute(_REST, {"id": page_id, "wait": wait_seconds})

    def claim_subscriptions(self, limit: int, lease_seconds: float) -> list[Subscription]:
        rows = self._connection.execute(
            _CLAIM_SUBSCRIPTIONS, {"limit": limit, "lease": lease_seconds}
        ).mappings()
        return [Subscription(PageRow.of(row), row["subscribe_tries"]) for row in rows]

    def end_subscription(self, subscription: Subscription, *, done: bool, wait_seconds: float | None) -> None:
        """Stores the result of a try to subscribe a page to webhooks. `wait_seconds`: the time until the next try; None
        if no other try follows.
        """
        values = {"id": subscription.page.id, "tries": subscription.tries, "done": done, "wait": wait_seconds}
        self._connection.execute(_END_SUBSCRIPTION, values)

    def newest(
        self,
        account_id: str,
        *,
        brand_ids: tuple[str, ...] | None,
        platform: str | None,
        after: tuple[datetime, str] | None,
        limit: int,
    ) -> list[api.Page]:
        """Returns pages as clients see them, newest first, of these brands or of all (None). `after` is the
        (created_at, id) of the last page that was listed before."""
        of_brands, of_platform, from_there = brand_ids is not None, platform is not None, after is not None
        values = {"account_id": account_id, "limit": limit, "platform": platform}
        if brand_ids is not None:
            values["brand_ids"] = list(brand_ids)
        if after is not None:
            values["created_at"], values["id"] = after
        rows = _newest(of_brands, of_platform, from_there).fetch(self._connection, values)
        return [
            api.Page(
                id=page_id, platform=code, name=name, username=username, account_id=remote_id, brand_id=brand_id,
                brand_name=brand_name, followers=followers, picture=picture, expired=expired, created_at=created_at,
                checked_at=checked_at, missing_permissions=None if missing is None else tuple(missing),
                token_expires_at=token_expires_at, last_refusal=_refusal(*refusal),
            )
            for page_id, code, name, username, remote_id, brand_id, brand_name, followers, picture, expired, created_at,
            checked_at, missing, token_expires_at, *refusal in rows
        ]  # fmt: skip

    def last_refusals(self, page_ids: Sequence[str]) -> dict[str, api.LastRefusal]:
        """Returns each page's last post that the platform refused, by page id. Leaves out pages that have published a
        later post, and those without a refusal.
        """
        if not page_ids:
            return {}
        rows = _LAST_REFUSALS.fetch(self._connection, {"page_ids": list(page_ids)})
        found = {page_id: _refusal(*refusal) for page_id, *refusal in rows}
        return {page_id: refusal for page_id, refusal in found.items() if refusal is not None}

    def counts(self, account_id: str, brand_ids: tuple[str, ...]) -> dict[str, int]:
        statement = (
            select(pages.c.brand_id, func.count().label("pages"))
            .where(pages.c.account_id == account_id, pages.c.brand_id.in_(brand_ids))
            .where(pages.c.unlinked_at.is_(None))
            .group_by(pages.c.brand_id)
        )
        return {row.brand_id: row.pages for row in self._connection.execute(statement)}

    def stored_credentials(self, after: str, limit: int) -> list[tuple[str, str]]:
        """Returns up to `limit` pairs (page id, encrypted credentials) in the order of ids, beginning after the page id
        `after`. Includes unlinked pages."""
        statement = select(pages.c.id, pages.c.access_token).where(
            pages.c.id > after, pages.c.access_token != ""
        )
        rows = self._connection.execute(statement.order_by(pages.c.id).limit(limit))
        return [(row.id, row.access_token) for row in rows]

    def exchange_credentials(self, page_id: str, stored: str, fresh: str) -> bool:
        """Stores a page's credentials encrypted with a newer key. Returns False when they have changed meanwhile."""
        condition = (pages.c.id == page_id, pages.c.access_token == stored)
        statement = update(pages).where(*condition).values(access_token=fresh)
        return bool(self._connection.execute(statement).rowcount)
