"""`python -m chassis.database_roles <service>…` creates a role and a database for each service.

DATABASE_URL_<SERVICE> names both. The role gets its password and owns the database, to which no other service's role
may connect. If the database exists already with another owner, the new role becomes the owner of the database, its
tables and its functions. Processes may still be connected with the old role: name that role in KEPT_DATABASE_ROLES,
and it keeps its rights. A superuser keeps its rights in any case. The command may be repeated at any time, and changes
only what differs.

A service migrates and runs as one role, the owner of its database. A second role without the right to change tables
would not protect the rows: an attacker in the process could read and delete them with the rights that the service
needs.
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
#: How long to wait for the server, which may recover from a crash before it accepts connections.
_WAIT_SECONDS = 30.0
#: A change of an owner waits for the transactions on its table, and others wait behind it: far shorter than the 5 s
#: that services wait for a lock, so none of their statements fails.
_LOCK_TIMEOUT = "1s"
_LOCK_TRIES = 30

#: Rights that a service's role must not have. The command refuses to take them from a role with other uses.
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
#: Pairs of a role and another service's database that it may connect to nevertheless.
_STRAYS = """
    SELECT r.rolname, d.datname FROM pg_roles r CROSS JOIN pg_database d
    WHERE r.rolname = ANY(%(roles)s) AND d.datname = ANY(%(databases)s)
        AND (r.rolname || ' ' || d.datname) <> ALL(%(own)s) AND has_database_privilege(r.oid, d.oid, 'CONNECT')
    ORDER BY 1, 2
"""


class Refused(Exception):
    """Raised for settings that would not separate the services, or would weaken a role that is used elsewhere."""


class Owner(NamedTuple):
    """One service's role and database, as the URL in DATABASE_URL_<SERVICE> names them."""

    service: str
    role: str
    #: None: the server authenticates the role by other means, and its password is not changed.
    password: str | None
    database: str


def owners_of(urls: dict[str, str]) -> list[Owner]:
    """Parses the database URLs. Raises Refused when one names no role or no database, or when two name the same role
    or database.
    """
    owners = []
    for service, url in urls.items():
        address = make_url(url)
        if not address.username or not address.database:
            raise Refused(f"DATABASE_URL_{service.upper()} must name a role and a database")
        owners.append(Owner(service, address.username, address.password, address.database))
    for what in ("role", "database"):
        names = [getattr(owner, what) for owner in owners]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise Refused(f"several services name the {what} {twice[0]}: give each service its own")
    return owners


def establish(
    admin_url: str, owners: Sequence[Owner], *, kept_roles: Sequence[str] = (), is_dedicated: bool = False
) -> None:
    """Creates the role and the database of each owner, or corrects them.

    Processes that are connected with one of the `kept_roles` keep their rights to the databases. `is_dedicated`: also
    closes the databases `postgres` and `template1` to PUBLIC.

    Raises Refused for unsafe settings, and psycopg2.Error when a statement fails. After an error the changes made so
    far stay, and the next run does the rest.
    """
    with _session(admin_url) as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        _refuse_unsafe(cursor, owners, kept_roles)
        is_superuser = _rows(cursor, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user")[0][0]
        for owner in owners:
            _make_role(cursor, owner)
            # Before ownership changes, so that a release that still runs keeps its rights.
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
                f"{name} names the role {owner.role}, which has other uses or more rights than a service may have."
                " Name a separate role for the service; it is created if it does not exist"
            )
        if groups := [row[0] for row in _rows(cursor, _MEMBER_OF, owner.role)]:
            raise Refused(
                f"the role {owner.role} is a member of {groups[0]}: run REVOKE {groups[0]} FROM {owner.role}"
            )
    known = {row[0] for row in _rows(cursor, "SELECT rolname FROM pg_roles")}
    if unknown := [name for name in kept_roles if name not in known]:
        raise Refused(f"KEPT_DATABASE_ROLES names {unknown[0]}, which does not exist")


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
        # Hashed as the server stores it, because the statement may be logged.
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
    """Makes `role` the owner of the tables, functions and other objects of the database.

    Each statement has its own transaction, so that a table is locked only for a moment.
    """
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
            f"{role} may connect to the database {database}: run REVOKE ALL ON DATABASE {database} FROM {role}"
        )


def _rows(cursor: Any, statement: str, *values: Any, **named: Any) -> list[tuple[Any, ...]]:
    cursor.execute(statement, named or values or None)
    return list(cursor.fetchall())


@contextmanager
def _session(admin_url: str, database: str | None = None) -> Iterator[Any]:
    """Opens a connection in autocommit, and yields a cursor. Waits for the server to accept connections.

    Raises psycopg2.OperationalError if the server accepts none within _WAIT_SECONDS.
    """
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
