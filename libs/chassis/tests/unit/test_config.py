"""Settings from the environment, and secrets from files."""

import ssl
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.fernet import Fernet

from chassis import config
from chassis.bus import amqp
from chassis.config import ConfigError
from local.servers import certificates

#: The subject of our authority, as Python names it.
AUTHORITY = ((("commonName", "Posthaste"),),)


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    names = (
        "AMQP_PASSWORD",
        "AMQP_TLS_CA",
        "DATABASE_PASSWORD",
        "DATABASE_PASSWORD_QUOTA",
        "DATABASE_TLS_CA",
    )
    for name in ("KEY", "KEY_FILE", "DATABASE_URL", "DATABASE_URL_QUOTA", *names):
        monkeypatch.delenv(name, raising=False)


def test_a_secret_may_lie_in_a_file_whose_last_line_end_does_not_count(monkeypatch, tmp_path):
    (tmp_path / "key").write_text("two words \n")
    monkeypatch.setenv("KEY_FILE", str(tmp_path / "key"))
    assert config.text("KEY") == "two words "


def test_a_file_that_is_not_there_stops_the_start_and_names_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("KEY_FILE", str(tmp_path / "missing"))
    with pytest.raises(ConfigError, match="KEY_FILE"):
        config.text("KEY", "default")


def test_a_value_and_a_file_at_once_are_refused(monkeypatch, tmp_path):
    (tmp_path / "key").write_text("one")
    monkeypatch.setenv("KEY", "two")
    monkeypatch.setenv("KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(ConfigError, match="both"):
        config.text("KEY")


@pytest.mark.parametrize("is_named", [True, False])
def test_an_empty_file_counts_as_unset(monkeypatch, tmp_path, is_named):
    (tmp_path / "key").touch()
    monkeypatch.setenv("KEY_FILE", str(tmp_path / "key") if is_named else "")
    assert config.text("KEY", "default") == "default"
    with pytest.raises(ConfigError, match="KEY is not set"):
        config.text("KEY")
    monkeypatch.setenv("KEY", "from the environment")
    assert config.text("KEY") == "from the environment"


def test_a_password_kept_apart_goes_into_an_address_that_names_a_user_alone(monkeypatch):
    monkeypatch.setenv("AMQP_PASSWORD", "p@ss/word")
    monkeypatch.setenv("AMQP_URL", "amqp://posthaste@broker:5672/%2F")
    assert config.amqp_url() == "amqp://posthaste:p%40ss%2Fword@broker:5672/%2F"
    for whole in ("amqp://posthaste:own@broker/%2F", "amqp://broker/%2F"):
        monkeypatch.setenv("AMQP_URL", whole)
        assert config.amqp_url() == whole


def test_services_that_share_a_process_have_a_database_and_a_password_each(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://one@host/one")
    monkeypatch.setenv("DATABASE_URL_QUOTA", "postgresql://quota@host/quota")
    monkeypatch.setenv("DATABASE_PASSWORD", "of one")
    monkeypatch.setenv("DATABASE_PASSWORD_QUOTA", "of quota")
    assert config.service_database_url().endswith("//one:of%20one@host/one")
    assert config.service_database_url("quota").endswith("//quota:of%20quota@host/quota")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a certificate."""
    return certificates.make(tmp_path_factory.mktemp("tls"), "server") / "ca.crt"


def test_a_file_of_authorities_has_the_server_s_certificate_checked(monkeypatch, authority):
    monkeypatch.setenv("DATABASE_TLS_CA", str(authority))
    monkeypatch.setenv("AMQP_TLS_CA", str(authority))
    monkeypatch.setenv("AMQP_URL", "amqps://user:word@broker/%2F")
    monkeypatch.setenv("DATABASE_URL", "postgresql://user@host/one?application_name=x")
    database = parse_qs(urlsplit(config.service_database_url()).query)
    assert database["sslmode"] == ["verify-full"]
    assert database["sslrootcert"] == [str(authority)]
    assert database["application_name"] == ["x"]
    found = amqp.parameters(config.amqp_url())
    assert (found.host, found.port, found.virtual_host) == ("broker", 5671, "/")
    assert found.ssl_options.server_hostname == "broker"
    assert found.ssl_options.context.verify_mode is ssl.CERT_REQUIRED
    assert found.ssl_options.context.check_hostname
    assert [it["subject"] for it in found.ssl_options.context.get_ca_certs()] == [AUTHORITY]


def test_without_a_file_of_authorities_those_of_the_system_vouch_for_an_encrypted_broker(monkeypatch):
    monkeypatch.setenv("AMQP_URL", "amqps://user:word@broker/%2F")
    context = amqp.parameters(config.amqp_url()).ssl_options.context
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert AUTHORITY not in [it["subject"] for it in context.get_ca_certs()]
    monkeypatch.setenv("AMQP_URL", "amqp://user:word@broker/%2F")
    assert amqp.parameters(config.amqp_url()).ssl_options is None


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("postgresql://user@host/one?sslmode=require", "DATABASE_URL has sslmode=require"),
        ("postgresql://user@host/one?sslmode=disable", "DATABASE_URL has sslmode=disable"),
        ("postgresql://user@/one?host=/run/pg", "a Unix socket has no TLS"),
        ("postgresql://user@host/one?host=/run/pg", "a Unix socket has no TLS"),
        ("postgresql://user@/one", "a Unix socket has no TLS"),
        ("postgresql://user@host/one?sslrootcert=/another", "name different files"),
    ],
)
def test_a_database_that_could_be_reached_without_tls_is_refused_where_authorities_are_set(
    monkeypatch, authority, url, complaint
):
    monkeypatch.setenv("DATABASE_TLS_CA", str(authority))
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ConfigError, match=complaint):
        config.service_database_url()


def test_a_broker_without_tls_is_refused_where_authorities_are_set(monkeypatch, authority):
    monkeypatch.setenv("AMQP_TLS_CA", str(authority))
    monkeypatch.setenv("AMQP_URL", "amqp://user:word@broker/%2F")
    with pytest.raises(ConfigError, match="AMQP_URL begins with amqp://, which is not encrypted"):
        config.amqp_url()
    monkeypatch.setenv("AMQP_URL", "https://broker/")
    with pytest.raises(ConfigError, match="must begin with amqp:// or amqps://"):
        config.amqp_url()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "missing.crt cannot be read: No such file or directory"),
        ("", "holds no certificate in PEM format"),
        ("not a certificate", "holds no certificate in PEM format"),
    ],
)
@pytest.mark.parametrize("is_in_the_address", [True, False])
def test_a_file_of_authorities_that_cannot_be_used_stops_the_start_and_is_named(
    monkeypatch, tmp_path, content, complaint, is_in_the_address
):
    path = tmp_path / ("missing.crt" if content is None else "ca.crt")
    if content is not None:
        path.write_text(content)
    for name, url, parameter, read in (
        ("AMQP", "amqps://user:word@broker/%2F", "cacertfile", config.amqp_url),
        ("DATABASE", "postgresql://user@host/one", "sslrootcert", config.service_database_url),
    ):
        if is_in_the_address:
            url += f"?{parameter}={path}"
        else:
            monkeypatch.setenv(f"{name}_TLS_CA", str(path))
        monkeypatch.setenv(f"{name}_URL", url)
        with pytest.raises(ConfigError, match=f"{name}_TLS_CA: .*{complaint}"):
            read()


def test_a_certificate_in_the_place_of_its_path_is_recognised(monkeypatch, authority):
    monkeypatch.setenv("AMQP_TLS_CA", authority.read_text())
    monkeypatch.setenv("AMQP_URL", "amqps://user:word@broker/%2F")
    with pytest.raises(ConfigError, match="AMQP_TLS_CA is the path of a file"):
        config.amqp_url()


@pytest.mark.parametrize(
    "keys", ["", "short", f"{Fernet.generate_key().decode()},short"], ids=["none", "bad", "one bad"]
)
def test_without_good_keys_of_a_vault_the_service_does_not_start(monkeypatch, keys):
    monkeypatch.setenv("KEY", keys)
    with pytest.raises(ConfigError, match="KEY must be one or more Fernet keys"):
        config.vault_keys("KEY")


def test_a_page_for_people_is_the_dashboards_or_else_the_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DASHBOARD_URL", raising=False)
    monkeypatch.setenv("PUBLIC_BASE_URL", "https://api.example.com/")
    assert config.page_url("billing/packs", "billing") == "https://api.example.com/docs/billing"
    monkeypatch.setenv("DASHBOARD_URL", "https://posts.example.com/")
    assert config.page_url("billing/packs", "billing") == "https://posts.example.com/billing/packs"
