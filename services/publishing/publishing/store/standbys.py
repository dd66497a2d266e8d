"""Warns if promoting a standby of the database could lose the last stored attempts: their posts would be sent again."""

from typing import NamedTuple

import structlog
from sqlalchemy import Connection, text

log = structlog.get_logger()

#: Every role may count the servers that receive the log, and read the settings.
_REPLICATION = text(
    """
    SELECT (SELECT count(*) FROM pg_stat_replication) AS receivers,
        current_setting('synchronous_standby_names') AS synchronous_names,
        current_setting('synchronous_commit') AS commit_waits_for
    """
)
_ADVICE = (
    "A standby that is promoted without the last commits sends posts again: set synchronous_standby_names, or run"
    " after-restore.sql after a promotion (docs/operations.md, PostgreSQL with a standby)."
)


class Replication(NamedTuple):
    """How the database server replicates to its standbys."""

    receivers: int
    synchronous_names: str
    commit_waits_for: str

    @property
    def may_lose_commits(self) -> bool:
        """Whether promoting a standby may lose commits. It may if a standby receives the log, but commits do not wait
        for it."""
        is_synchronous = self.synchronous_names != "" and self.commit_waits_for not in ("local", "off")
        return self.receivers > 0 and not is_synchronous


def warn_of_asynchronous(connection: Connection) -> None:
    """Logs a warning if promoting a standby of the database could lose attempts."""
    replication = Replication(*connection.execute(_REPLICATION).one())
    if replication.may_lose_commits:
        log.warning("standby_is_asynchronous", advice=_ADVICE, **replication._asdict())
