"""SQL of subscriptions, their secrets and the tiers of accounts."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Select, Text, and_, cast, func, or_, select, tuple_, update
from sqlalchemy.dialects.postgresql import ARRAY, insert

from chassis.db.clock import clock_now
from webhooks.models import accounts, deliveries, lanes, revoked_tokens, secrets, subscriptions
from webhooks.records import MadeBy, SecretRow, SubscriptionRow

#: For this long after an `account.changed` event a caller's tier is ignored, because gateways may have cached the old
#: one for some seconds.
_CACHED_CALLERS = timedelta(minutes=1)
_FIELDS = SubscriptionRow.__dataclass_fields__
_ALL = select(
    *(column for column in subscriptions.c if column.name in _FIELDS),
    lanes.c.consecutive_failures,
    lanes.c.last_delivery_at,
).join_from(subscriptions, lanes)


class Subscriptions:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock_account(self, account_id: str, tier: str) -> None:
        """Stores the account's tier, unless an event has told it within the last minute, and locks the account until
        the transaction ends.
        """
        self.note_tier(account_id, tier)
        self._connection.execute(select(accounts.c.id).where(accounts.c.id == account_id).with_for_update())

    def note_tier(self, account_id: str, tier: str) -> None:
        new = insert(accounts).values(id=account_id, tier=tier)
        statement = new.on_conflict_do_update(
            index_elements=["id"],
            set_={"tier": new.excluded.tier},
            where=and_(
                accounts.c.tier != new.excluded.tier,
                or_(accounts.c.told_by == "", accounts.c.told_at < func.clock_timestamp() - _CACHED_CALLERS),
            ),
        )
        self._connection.execute(statement)

    def take_tier(self, account_id: str, tier: str, event_id: str) -> None:
        """Stores the tier that an event of the accounts service names, unless a newer event is stored."""
        new = insert(accounts).values(id=account_id, tier=tier, told_by=event_id)
        statement = new.on_conflict_do_update(
            index_elements=["id"],
            set_={"tier": tier, "told_by": event_id, "told_at": func.clock_timestamp()},
            where=accounts.c.told_by < event_id,
        )
        self._connection.execute(statement)

    def lock_known_account(self, account_id: str) -> None:
        """Locks the account until the transaction ends, for an event that does not tell the account's tier. An account
        that has no row yet gets one, with the tier `free` until its tier is known.
        """
        self._connection.execute(insert(accounts).values(id=account_id, tier="free").on_conflict_do_nothing())
        self._connection.execute(select(accounts.c.id).where(accounts.c.id == account_id).with_for_update())

    def is_revoked(self, token_id: str) -> bool:
        """Whether the token is known to have lost access."""
        statement = select(revoked_tokens.c.token_id).where(revoked_tokens.c.token_id == token_id)
        return self._connection.execute(statement).first() is not None

    def note_revoked(self, token_ids: Sequence[str]) -> None:
        for token_id in token_ids:
            self._connection.execute(
                insert(revoked_tokens).values(token_id=token_id).on_conflict_do_nothing()
            )

    def active_of_tokens(self, account_id: str, token_ids: Sequence[str]) -> list[MadeBy]:
        """Returns the active subscriptions made with these tokens, locked until the transaction ends."""
        columns = subscriptions.c
        statement = select(*(columns[name] for name in MadeBy._fields)).where(
            columns.account_id == account_id,
            columns.deleted_at.is_(None),
            columns.status == "active",
            columns.maker_token_id.in_(token_ids),
        )
        rows = self._connection.execute(statement.order_by(columns.id).with_for_update(key_share=True))
        return [MadeBy(*row) for row in rows]

    def disable(self, subscription_ids: Sequence[str], reason: str) -> None:
        """Disables subscriptions for this reason. The clean-up later marks all deliveries that wait now as failed, even
        replays and tests.
        """
        if not subscription_ids:
            return
        self._connection.execute(
            update(subscriptions)
            .where(subscriptions.c.id.in_(subscription_ids))
            .values(status="disabled", disabled_reason=reason, disabled_at=clock_now(), ending=True)
        )
        self._connection.execute(
            update(deliveries)
            .where(
                deliveries.c.subscription_id.in_(subscription_ids),
                deliveries.c.state == "pending",
                deliveries.c.asked,
            )
            .values(asked=False)
        )

    def of_operation(self, account_id: str, operation_id: str | None) -> SubscriptionRow | None:
        if operation_id is None:
            return None
        statement = _ALL.where(
            subscriptions.c.account_id == account_id, subscriptions.c.operation_id == operation_id
        )
        return self._one(statement)

    def count(self, account_id: str) -> int:
        statement = select(func.count()).where(
            subscriptions.c.account_id == account_id, subscriptions.c.deleted_at.is_(None)
        )
        return int(self._connection.execute(statement).scalar_one())

    def add(self, subscription_id: str, account_id: str, **fields: Any) -> SubscriptionRow:
        """Adds a subscription and its endpoint queue, and returns it.

        `fields`: operation_id, name, url, events, brand_ids, immediate_posts, made_within, maker_user_id and
        maker_token_id.
        """
        values = {"id": subscription_id, "account_id": account_id, "created_at": clock_now(), **fields}
        self._connection.execute(insert(subscriptions).values(values))
        self._connection.execute(insert(lanes).values(subscription_id=subscription_id))
        added = self.get(subscription_id)
        assert added is not None, "written above"
        return added

    def get(self, subscription_id: str) -> SubscriptionRow | None:
        """Returns a subscription; None if there is none, or if it was deleted."""
        return self._one(
            _ALL.where(subscriptions.c.id == subscription_id, subscriptions.c.deleted_at.is_(None))
        )

    def lock(self, subscription_id: str) -> SubscriptionRow | None:
        """Returns a subscription, locked until the transaction ends; None if there is none."""
        statement = select(subscriptions.c.id).where(subscriptions.c.id == subscription_id)
        self._connection.execute(statement.with_for_update(key_share=True))
        return self.get(subscription_id)

    def newest(
        self,
        account_id: str,
        *,
        brand_ids: Sequence[str] | None,
        status: str | None = None,
        before: tuple[datetime, str] | None,
        limit: int,
    ) -> list[SubscriptionRow]:
        """Returns at most `limit` subscriptions of the account, newest first.

        `brand_ids`: the brands that the caller's token is limited to; None if it is not limited. A limited token gets
        only subscriptions that are limited to brands among these, and whose maker's token was limited to brands among
        these. `status`: lists only subscriptions in this state. `before`: (created_at, id) of the last subscription of
        the previous page.
        """
        columns = subscriptions.c
        statement = _ALL.where(columns.account_id == account_id, columns.deleted_at.is_(None))
        if brand_ids is not None:
            for brands in (columns.brand_ids, func.coalesce(columns.made_within, columns.brand_ids)):
                within = brands.op("<@")(cast(list(brand_ids), ARRAY(Text)))
                statement = statement.where(func.cardinality(brands) > 0, within)
        if status is not None:
            statement = statement.where(columns.status == status)
        if before is not None:
            statement = statement.where(tuple_(columns.created_at, columns.id) < before)
        statement = statement.order_by(columns.created_at.desc(), columns.id.desc()).limit(limit)
        return [_row(row) for row in self._connection.execute(statement)]

    def change(self, subscription_id: str, **fields: Any) -> None:
        """Changes columns of a subscription. The dispatcher reads them at its next tick."""
        statement = update(subscriptions).where(subscriptions.c.id == subscription_id)
        self._connection.execute(statement.values(**fields))

    def enable(self, subscription_id: str, **fields: Any) -> None:
        """Enables a subscription and resets its failures. `fields` are further columns to change."""
        active = {"status": "active", "disabled_reason": None, "disabled_at": None, "ending": False}
        self.change(subscription_id, **active, **fields)
        statement = update(lanes).where(lanes.c.subscription_id == subscription_id)
        counted = {"consecutive_failures": 0, "enabled_count": lanes.c.enabled_count + 1}
        self._connection.execute(statement.values(counted))

    def delete(self, subscription_id: str, operation_id: str | None) -> None:
        self.change(subscription_id, deleted_at=clock_now(), delete_operation_id=operation_id)

    def deleted_by(self, account_id: str, operation_id: str | None) -> str | None:
        """Returns the id of the subscription that this operation deleted; None if it deleted none."""
        columns = subscriptions.c
        statement = select(columns.id).where(
            columns.account_id == account_id, columns.delete_operation_id == (operation_id or "")
        )
        return self._connection.execute(statement).scalar()

    def add_secret(self, secret_id: str, subscription_id: str, operation_id: str | None, secret: str) -> None:
        """Adds a secret to a subscription. The caller has encrypted it."""
        values = {
            "id": secret_id,
            "subscription_id": subscription_id,
            "operation_id": operation_id,
            "secret": secret,
            "created_at": clock_now(),
        }
        self._connection.execute(insert(secrets).values(values))

    def expire_secret(self, subscription_id: str, lasts: timedelta) -> datetime:
        """Lets the subscription's current secret expire after `lasts`. Returns the time at which it expires."""
        statement = (
            update(secrets)
            .where(secrets.c.subscription_id == subscription_id, secrets.c.expires_at.is_(None))
            .values(expires_at=clock_now() + lasts)
            .returning(secrets.c.expires_at)
        )
        ends_at: datetime = self._connection.execute(statement).scalar_one()
        return ends_at

    def secret_of_operation(self, subscription_id: str, operation_id: str | None) -> SecretRow | None:
        """Returns the secret that this operation made; None if it made none."""
        if operation_id is None:
            return None
        return self._newest_secret(subscription_id, secrets.c.operation_id == operation_id)

    def secret_before(self, subscription_id: str, secret_id: str) -> SecretRow | None:
        """Returns the secret that the subscription had before the secret `secret_id`; None if there is none."""
        return self._newest_secret(subscription_id, secrets.c.id < secret_id)

    def valid_secrets(self, subscription_id: str) -> list[str]:
        """Returns the subscription's valid secrets, encrypted, newest first."""
        is_valid = secrets.c.expires_at.is_(None) | (secrets.c.expires_at > clock_now())
        statement = select(secrets.c.secret).where(secrets.c.subscription_id == subscription_id, is_valid)
        return list(self._connection.execute(statement.order_by(secrets.c.id.desc())).scalars())

    def stored_secrets(self, after: str, limit: int) -> list[tuple[str, str]]:
        """Returns the next `limit` secrets of all subscriptions after the id `after`, as (id, encrypted secret), in the
        order of ids."""
        statement = select(secrets.c.id, secrets.c.secret).where(secrets.c.id > after)
        rows = self._connection.execute(statement.order_by(secrets.c.id).limit(limit))
        return [(row.id, row.secret) for row in rows]

    def replace_secret(self, secret_id: str, stored: str, fresh: str) -> bool:
        """Replaces the encrypted secret `stored` by `fresh`, the same secret encrypted with a newer key. Returns False
        if the stored one has changed or is gone.
        """
        condition = (secrets.c.id == secret_id, secrets.c.secret == stored)
        return bool(self._connection.execute(update(secrets).where(*condition).values(secret=fresh)).rowcount)

    def _newest_secret(self, subscription_id: str, condition: Any) -> SecretRow | None:
        statement = (
            select(secrets.c.id, secrets.c.secret, secrets.c.expires_at)
            .where(secrets.c.subscription_id == subscription_id, condition)
            .order_by(secrets.c.id.desc())
            .limit(1)
        )
        row = self._connection.execute(statement).one_or_none()
        return SecretRow(*row) if row is not None else None

    def _one(self, statement: Select[Any]) -> SubscriptionRow | None:
        row = self._connection.execute(statement).one_or_none()
        return _row(row) if row is not None else None


def _row(row: Row[*tuple[Any, ...]]) -> SubscriptionRow:
    return SubscriptionRow(**row._mapping)
