"""`python -m chassis.database_roles <service>…`: a database and a role of its own for each service.

DATABASE_URL_<SERVICE> says which: the command makes the role that the address names, with its password, and the
database, which belongs to that role and which no other service's role may enter. On a server that is in use, databases,
tables and functions that belong to another role are handed over; a release that still runs with that role goes on while
it is named in KEPT_DATABASE_ROLES (a superuser needs no naming). The command may be run again at any time: it changes
nothing that is as it should be.

A service migrates and runs as one role, the owner of its database. A second role without the right to change tables
would not protect the rows: a process that was taken over reads and deletes them with the rights that the service needs.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg2
import structlog
from psycopg2 import sql
from psycopg2.errors import LockNotAvailable
from psycopg2.extensions import encrypt_password
from sqlalchemy.engine import make_url

from chassis import config
from chassis.telemetry import logs

log = structlog.get_logger()

_LOCK = 0x726F6C65  # any constant of ours
#: A server that starts may recover from a crash first. Our choice.
_WAIT_SECONDS = 30.0
#: A change of an owner waits for the transactions on its table, and others wait behind it: far shorter than the 5 s
#: that services wait for a lock, so none of their statements fails.
_LOCK_TIMEOUT = "1s"
_LOCK_TRIES = 30

#: What a role of a service must not be able to do: the command refuses to weaken a role that has other work.
_IS_POWERFUL = "SELECT rolsuper OR rolreplication OR rolbypassrls FROM pg_roles WHERE rolname = %s"
_MEMBER_OF = """
    SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid
    WHERE m.member = (SELECT oid FROM pg_roles WHERE rolname = %s)
"""
_MEMBERS = """
    SELECT DISTINCT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member
    WHERE m.roleid = (SELECT oid FROM pg_roles WHERE rolname = %s)
"""
#: Statements that hand over what another role owns, one each. Indexes, triggers and the sequences of columns follow
#: their tables; what belongs to an extension stays with it. `public` is the database owner's from PostgreSQL 15 on.
_HAND_OVER = """
    WITH me AS (SELECT oid FROM pg_roles WHERE rolname = %(role)s),
    ours AS (
        SELECT oid, nspname, nspowner FROM pg_namespace
        WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
    ),
    follows AS (SELECT classid, objid, deptype FROM pg_depend WHERE deptype IN ('a', 'i', 'e'))
    SELECT format('ALTER SCHEMA %%I OWNER TO %%I', nspname, %(role)s) FROM ours
    WHERE nspowner NOT IN (SELECT oid FROM me) AND pg_get_userbyid(nspowner) <> 'pg_database_owner'
    UNION ALL
    SELECT format('ALTER %%s %%I.%%I OWNER TO %%I',
        CASE relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END,
        nspname, relname, %(role)s)
    FROM pg_class c JOIN ours ON ours.oid = c.relnamespace
    WHERE relkind IN ('r', 'p', 'S', 'v', 'm') AND relowner NOT IN (SELECT oid FROM me) AND NOT EXISTS (
        SELECT FROM follows WHERE classid = 'pg_class'::regclass AND objid = c.oid AND (relkind = 'S' OR deptype = 'e'))
    UNION ALL
    SELECT format('ALTER ROUTINE %%I.%%I(%%s) OWNER TO %%I',
        nspname, proname, pg_get_function_identity_arguments(p.oid), %(role)s)
    FROM pg_proc p JOIN ours ON ours.oid = p.pronamespace
    WHERE proowner NOT IN (SELECT oid FROM me) AND NOT EXISTS (
        SELECT FROM follows WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
"""
#: Pairs of a role and a database that is not its own, which it may enter nevertheless.
_STRAYS = """
    SELECT r.rolname, d.datname FROM pg_roles r CROSS JOIN pg_database d
    WHERE r.rolname = ANY(%(roles)s) AND d.datname = ANY(%(databases)s)
        AND (r.rolname || ' ' || d.datname) <> ALL(%(own)s) AND has_database_privilege(r.oid, d.oid, 'CONNECT')
    ORDER BY 1, 2
"""


class Refused(Exception):
    """What was asked for would not keep the services apart, or would weaken a role that has other work."""


class Owner(NamedTuple):
    """What the address of a service names."""

    service: str
    role: str
    #: None: the server lets the role in by other means, and its password is left alone.
    password: str | None
    database: str


def owners_of(urls: dict[str, str]) -> list[Owner]:
    """The addresses, read. Raises Refused when one names no role or no database, or two name the same."""
    owners = []
    for service, url in urls.items():
        address = make_url(url)
        if not address.username or not address.database:
            raise Refused(f"DATABASE_URL_{service.upper()} must name a role and a database")
        owners.append(Owner(service, address.username, address.password, address.database))
    for what in ("role", "database"):
        names = [getattr(owner, what) for owner in owners]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise Refused(f"the {what} {twice[0]} is named by several services: each needs its own")
    return owners


def establish(
    admin_url: str, owners: Sequence[Owner], *, kept_roles: Sequence[str] = (), is_dedicated: bool = False
) -> None:
    """Makes roles and databases as they should be. Raises Refused, psycopg2.Error.

    What was done when it ends early stays done; run again, it does the rest.
    """
    with _session(admin_url) as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        _refuse_unsafe(cursor, owners, kept_roles)
        is_superuser = _rows(cursor, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user")[0][0]
        for owner in owners:
            _make_role(cursor, owner)
            # Before anything is taken from them: a release that still runs must not notice.
            members = [sql.Identifier(name) for name in kept_roles]
            for member in members if is_superuser else [*members, sql.SQL("CURRENT_USER")]:
                cursor.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(owner.role), member))
        for owner in owners:
            _make_database(cursor, owner)
            with _session(admin_url, owner.database) as inside:
                _hand_over(inside, owner.role)
        for owner in owners:
            _leave_members(cursor, owner.role, kept_roles)
        for name in ("postgres", "template1") if is_dedicated else ():
            cursor.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))
        _refuse_strays(cursor, owners)


def _refuse_unsafe(cursor: Any, owners: Sequence[Owner], kept_roles: Sequence[str]) -> None:
    [(me,)] = _rows(cursor, "SELECT current_user")
    for owner in owners:
        name = f"DATABASE_URL_{owner.service.upper()}"
        if owner.role in (me, *kept_roles) or any(row[0] for row in _rows(cursor, _IS_POWERFUL, owner.role)):
            raise Refused(
                f"{name} names the role {owner.role}, which has other work or more rights than a service may have."
                " Name a role of the service's own; it need not be there"
            )
        if groups := [row[0] for row in _rows(cursor, _MEMBER_OF, owner.role)]:
            raise Refused(
                f"the role {owner.role} has the rights of {groups[0]}: REVOKE {groups[0]} FROM {owner.role}"
            )
    known = {row[0] for row in _rows(cursor, "SELECT rolname FROM pg_roles")}
    if unknown := [name for name in kept_roles if name not in known]:
        raise Refused(f"KEPT_DATABASE_ROLES names {unknown[0]}, and there is no such role")


def _make_role(cursor: Any, owner: Owner) -> None:
    there = _rows(cursor, "SELECT oid FROM pg_roles WHERE rolname = %s", owner.role)
    if not there and owner.password is None:
        raise Refused(
            f"DATABASE_URL_{owner.service.upper()} names the role {owner.role}, which is new and has no password:"
            f" set DATABASE_PASSWORD_{owner.service.upper()}"
        )
    verb, role = sql.SQL("ALTER" if there else "CREATE"), sql.Identifier(owner.role)
    cursor.execute(sql.SQL("{} ROLE {} LOGIN NOCREATEDB NOCREATEROLE").format(verb, role))
    if owner.password is not None:
        # As the server keeps it: the statement may be logged.
        kept = encrypt_password(owner.password, owner.role, cursor.connection, "scram-sha-256")
        cursor.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, sql.Literal(kept)))


def _make_database(cursor: Any, owner: Owner) -> None:
    database, role = sql.Identifier(owner.database), sql.Identifier(owner.role)
    present = _rows(
        cursor, "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = %s", owner.database
    )
    if not present:
        cursor.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, role))
    elif present[0][0] != owner.role:
        cursor.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(database, role))
    cursor.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))


def _hand_over(cursor: Any, role: str) -> None:
    """Each in a transaction of its own, so that a table is closed for a moment only."""
    cursor.execute("SELECT set_config('lock_timeout', %s, false)", (_LOCK_TIMEOUT,))
    for tries_left in reversed(range(_LOCK_TRIES)):
        try:
            for (statement,) in _rows(cursor, _HAND_OVER, role=role):
                cursor.execute(statement)
            return
        except LockNotAvailable:
            if not tries_left:
                raise


def _leave_members(cursor: Any, role: str, kept_roles: Sequence[str]) -> None:
    for (member,) in _rows(cursor, _MEMBERS, role):
        if member not in kept_roles:
            revoke = sql.SQL("REVOKE {} FROM {}").format(sql.Identifier(role), sql.Identifier(member))
            cursor.execute(revoke)


def _refuse_strays(cursor: Any, owners: Sequence[Owner]) -> None:
    strays = _rows(
        cursor,
        _STRAYS,
        roles=[owner.role for owner in owners],
        databases=[owner.database for owner in owners],
        own=[f"{owner.role} {owner.database}" for owner in owners],
    )
    if strays:
        role, database = strays[0]
        raise Refused(
            f"{role} may enter the database {database}: REVOKE ALL ON DATABASE {database} FROM {role}"
        )


def _rows(cursor: Any, statement: str, *values: Any, **named: Any) -> list[tuple[Any, ...]]:
    cursor.execute(statement, named or values or None)
    return list(cursor.fetchall())


@contextmanager
def _session(admin_url: str, database: str | None = None) -> Iterator[Any]:
    """A cursor in autocommit; waits until the server lets the administrator in. Raises psycopg2.OperationalError."""
    address = make_url(admin_url).set(drivername="postgresql")
    if database is not None:
        address = address.set(database=database)
    end = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            connection = psycopg2.connect(address.render_as_string(hide_password=False), connect_timeout=5)
            break
        except psycopg2.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            yield cursor
    finally:
        connection.close()


def main() -> None:
    services = sys.argv[1:]
    if not services:
        raise SystemExit("usage: python -m chassis.database_roles <service>…")
    try:
        settings = config.RolesConfig.from_env(services)
        owners = owners_of(settings.database_urls)
        logs.configure("database_roles")
        establish(
            settings.admin_url,
            owners,
            kept_roles=settings.kept_roles,
            is_dedicated=settings.server_is_dedicated,
        )
    except (config.ConfigError, Refused, psycopg2.Error) as error:
        raise SystemExit(f"database_roles: {error}") from None
    log.info("database_roles_are_ready", databases=[owner.database for owner in owners])


if __name__ == "__main__":
    main()
