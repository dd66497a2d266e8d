"""Each service has its own role and database, which the command creates once. What an administrator or a role shared by
all services owned is handed over to them.
"""

import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg2
import pytest
from psycopg2.errors import InsufficientPrivilege
from sqlalchemy.engine import make_url

from chassis import database_roles
from chassis.database_roles import Refused, establish, owners_of
from chassis.ids import new_id
from chassis.migrate import migrate


class Server:
    """The tests' database server. This test's roles and databases have unique names, and are dropped at its end."""

    def __init__(self, admin_url):
        self.admin_url = admin_url
        self.mark = new_id("t")[-12:]

    def url(self, name, *, role=None, password="secret"):
        url = make_url(self.admin_url)
        url = url.set(username=role or self.name(name), password=password, database=self.name(name))
        return url.render_as_string(hide_password=False)

    def name(self, word):
        return f"{word}_{self.mark}"

    def url_without_password(self, name):
        return make_url(self.url(name))._replace(password=None).render_as_string()

    def urls(self, *services):
        return {service: self.url(service) for service in services}

    def establish(self, *services, admin_url=None, **options):
        establish(admin_url or self.admin_url, owners_of(self.urls(*services)), **options)

    def admin(self, statement, database=None):
        """Runs a statement and returns its rows, if any. `{name}` stands for this test's unique form of a name."""
        url = make_url(self.admin_url)
        return run(
            url.set(database=database or url.database).render_as_string(hide_password=False), statement
        )

    def make_role(self, word, rights="LOGIN"):
        self.admin(f"CREATE ROLE {self.name(word)} {rights} PASSWORD 'secret'")
        return self.name(word)

    def owners(self, database):
        """Returns the owners of the database's relations, routines and schemas."""
        return {
            row[0]
            for row in self.admin(
                """
                SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relnamespace = 'public'::regnamespace
                UNION SELECT pg_get_userbyid(proowner) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
                UNION SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'public'
                """,
                database,
            )
        } - {"pg_database_owner"}

    def drop(self):
        # A service's role is a member of nothing: what it owns lies in its database.
        for (name,) in self.admin(f"SELECT datname FROM pg_database WHERE datname LIKE '%{self.mark}'"):
            self.admin(f'DROP DATABASE "{name}" WITH (FORCE)')
        for (name,) in self.admin(f"SELECT rolname FROM pg_roles WHERE rolname LIKE '%{self.mark}'"):
            self.admin(f'DROP OWNED BY "{name}"')
            self.admin(f'DROP ROLE "{name}"')


def run(url, statement):
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def connect(url):
    connection = psycopg2.connect(url.replace("+psycopg2", ""))
    connection.autocommit = True
    return connection


@pytest.fixture
def server(admin_url: str) -> Iterator[Server]:
    server = Server(admin_url)
    yield server
    server.drop()


def test_the_password_of_a_service_opens_its_own_database_and_no_other(server):
    server.establish("one", "two")
    run(server.url("one"), "CREATE TABLE kept (word text); INSERT INTO kept VALUES ('ours')")
    assert run(server.url("one"), "SELECT word FROM kept") == [("ours",)]
    for role, database in (("one", "two"), ("two", "one")):
        with pytest.raises(psycopg2.OperationalError, match=f'permission denied for database "{database}_'):
            run(server.url(database, role=server.name(role)), "SELECT 1")
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        run(server.url("one", password="another"), "SELECT 1")


def test_the_role_of_a_service_can_make_neither_roles_nor_databases(server):
    server.establish("one")
    for attempt in ("CREATE ROLE thief", "CREATE DATABASE thief", "ALTER ROLE {} SUPERUSER", "SET ROLE {}"):
        named = attempt.format(server.name("one") if "ALTER" in attempt else "pg_read_all_data")
        with pytest.raises(InsufficientPrivilege):
            run(server.url("one"), named)


def test_the_command_changes_nothing_when_it_runs_again_but_the_password(server):
    server.establish("one", "two")
    migrate("quota", server.url("one"))
    databases = (
        f"SELECT datname, datdba, datacl::text FROM pg_database WHERE datname ~ '{server.mark}' ORDER BY 1"
    )
    before = server.admin(databases)
    establish(
        server.admin_url, owners_of({"one": server.url("one", password="newer"), "two": server.url("two")})
    )
    assert server.admin(databases) == before
    assert run(server.url("one", password="newer"), "SELECT clock_now() IS NOT NULL") == [(True,)]
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        run(server.url("one"), "SELECT 1")


def test_a_role_whose_address_has_no_password_keeps_the_one_it_has(server):
    server.establish("one")
    without = {name: server.url_without_password(name) for name in ("one", "two")}
    establish(server.admin_url, owners_of({"one": without["one"]}))
    assert run(server.url("one"), "SELECT current_user") == [(server.name("one"),)]
    with pytest.raises(Refused, match="is new and has no password: set DATABASE_PASSWORD_TWO"):
        establish(server.admin_url, owners_of(without))


@pytest.mark.parametrize("service", ["ai", "publishing"])
def test_what_a_superuser_has_made_is_handed_over_while_the_running_release_goes_on(server, service):
    """On Docker Compose, all services had one superuser before release 1.4."""
    server.admin(f"CREATE DATABASE {server.name(service)}")
    old = make_url(server.admin_url).set(database=server.name(service)).render_as_string(hide_password=False)
    migrate(service, old)
    with closing(connect(old)) as running, running.cursor() as cursor:
        server.establish(service)
        cursor.execute("SELECT clock_now(); INSERT INTO inbox (event_id) VALUES ('from before')")
    run(old, "INSERT INTO inbox (event_id) VALUES ('connected anew')")
    assert server.owners(server.name(service)) == {server.name(service)}
    assert len(run(server.url(service), "SELECT event_id FROM inbox")) == 2
    migrate(service, server.url(service))
    # What the next migrations do: only an owner may.
    run(
        server.url(service),
        "ALTER TABLE outbox ADD COLUMN later int; DROP TABLE inbox; ALTER FUNCTION clock_now() COST 2",
    )


def test_a_role_that_all_services_shared_is_kept_until_the_release_that_uses_it_is_gone(server):
    old = server.make_role("shared")
    for service in ("one", "two"):
        server.admin(f"CREATE DATABASE {server.name(service)} OWNER {old}")
        migrate("quota", server.url(service, role=old))

    def old_release_works():
        for service in ("one", "two"):
            statement = "INSERT INTO inbox (event_id) SELECT count(*)::text FROM inbox"
            run(server.url(service, role=old), statement)

    with closing(connect(server.url("one", role=old))) as running, running.cursor() as cursor:
        server.establish("one", "two", kept_roles=[old])
        cursor.execute("INSERT INTO inbox (event_id) VALUES ('over an open connection')")
    old_release_works()
    assert server.owners(server.name("one")) == {server.name("one")}
    assert len(run(server.url("one"), "SELECT event_id FROM inbox")) == 2

    server.establish("one", "two", kept_roles=[old])  # again
    old_release_works()

    server.establish("one", "two")
    with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
        old_release_works()


def test_an_administrator_without_superuser_s_rights_is_enough(server):
    """Managed database servers give no more rights than that."""
    admin = server.make_role("admin", "LOGIN CREATEROLE CREATEDB")
    admin_url = server.url("admin")  # its own database: others may have closed `postgres` to everybody
    for name in ("admin", "one"):
        server.admin(f"CREATE DATABASE {server.name(name)} OWNER {admin}")
    migrate("quota", server.url("one", role=admin))
    server.establish("one", "two", admin_url=admin_url)
    server.establish("one", "two", admin_url=admin_url)  # again
    assert server.owners(server.name("one")) == {server.name("one")}
    for service in ("one", "two"):
        assert run(server.url(service), "SELECT current_database()") == [(server.name(service),)]
        with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
            run(server.url(service, role=admin), "SELECT 1")
    with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
        run(server.url("two", role=server.name("one")), "SELECT 1")


def test_on_a_server_of_our_own_the_databases_that_everybody_may_enter_are_closed_too(server):
    server.establish("one", is_dedicated=True)
    try:
        for database in ("postgres", "template1"):
            url = make_url(server.url("one")).set(database=database).render_as_string(hide_password=False)
            with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
                run(url, "SELECT 1")
    finally:
        for database in ("postgres", "template1"):
            server.admin(f"GRANT CONNECT ON DATABASE {database} TO PUBLIC")


def test_a_table_in_use_is_handed_over_when_it_is_free(server, monkeypatch):
    monkeypatch.setattr(database_roles, "_LOCK_TIMEOUT", "20ms")
    monkeypatch.setattr(database_roles, "_LOCK_TRIES", 1000)
    name = server.name("one")
    server.admin(f"CREATE DATABASE {name}")
    server.admin("CREATE TABLE busy (id int)", name)
    old = make_url(server.admin_url).set(database=name).render_as_string(hide_password=False)
    with closing(psycopg2.connect(old.replace("+psycopg2", ""))) as user, user.cursor() as cursor:
        cursor.execute("INSERT INTO busy VALUES (1)")
        handing_over = threading.Thread(target=server.establish, args=("one",))
        handing_over.start()
        waits = f"SELECT pid FROM pg_stat_activity WHERE datname = '{name}' AND wait_event_type = 'Lock'"
        while not server.admin(waits):
            assert handing_over.is_alive()
        user.commit()
    handing_over.join(30)
    assert server.owners(name) == {name}


def test_roles_that_have_other_work_are_refused_and_stay_as_they_are(server):
    admin = make_url(server.admin_url).username
    powerful = server.make_role("powerful", "LOGIN SUPERUSER")
    for role in (admin, powerful):
        with pytest.raises(Refused, match=f"DATABASE_URL_ONE names the role {role}, which has other uses"):
            establish(server.admin_url, owners_of({"one": server.url("one", role=role)}))
        assert server.admin(f"SELECT rolsuper FROM pg_roles WHERE rolname = '{role}'") == [(True,)]
    old = server.make_role("shared")
    with pytest.raises(Refused, match="other uses"):
        establish(server.admin_url, owners_of({"one": server.url("one", role=old)}), kept_roles=[old])


def test_a_role_that_reads_other_databases_by_a_group_is_refused(server):
    role = server.make_role("one")
    server.admin(f"GRANT pg_read_all_data TO {role}")
    with pytest.raises(Refused, match=f"REVOKE pg_read_all_data FROM {role}"):
        server.establish("one")


def test_a_right_to_enter_another_service_s_database_is_found(server):
    server.establish("one", "two")
    server.admin(f"GRANT CONNECT ON DATABASE {server.name('one')} TO {server.name('two')}")
    with pytest.raises(
        Refused, match=f"{server.name('two')} may connect to the database {server.name('one')}"
    ):
        server.establish("one", "two")


@pytest.mark.parametrize(
    ("urls", "complaint"),
    [
        ({"one": "postgresql://a@/x", "two": "postgresql://a@/y"}, "several services name the role a"),
        (
            {"one": "postgresql://a@/x", "two": "postgresql://b@/x"},
            "several services name the database x",
        ),
        ({"one": "postgresql:///x"}, "DATABASE_URL_ONE must name a role and a database"),
        ({"one": "postgresql://a@host"}, "DATABASE_URL_ONE must name a role and a database"),
    ],
)
def test_addresses_that_do_not_keep_services_apart_are_refused(urls, complaint):
    with pytest.raises(Refused, match=complaint):
        owners_of(urls)


def test_a_role_to_keep_that_is_not_there_is_named(server):
    with pytest.raises(Refused, match="KEPT_DATABASE_ROLES names nobody_here, which does not exist"):
        server.establish("one", kept_roles=["nobody_here"])


def test_the_command_makes_what_the_services_are_told(server, monkeypatch):
    monkeypatch.setenv("ADMIN_DATABASE_URL", server.admin_url)
    for service in ("one", "two"):
        monkeypatch.setenv(f"DATABASE_URL_{service.upper()}", server.url_without_password(service))
        monkeypatch.setenv(f"DATABASE_PASSWORD_{service.upper()}", "secret")
    monkeypatch.setattr("sys.argv", ["database_roles", "one", "two"])
    database_roles.main()
    for service in ("one", "two"):
        assert run(server.url(service), "SELECT current_user") == [(server.name(service),)]
    monkeypatch.setenv("KEPT_DATABASE_ROLES", "nobody_here")
    with pytest.raises(SystemExit, match="database_roles: KEPT_DATABASE_ROLES names nobody_here"):
        database_roles.main()
    monkeypatch.delenv("ADMIN_DATABASE_URL")
    with pytest.raises(SystemExit, match="database_roles: ADMIN_DATABASE_URL is not set"):
        database_roles.main()
