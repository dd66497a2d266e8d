"""Settings from the environment, and secrets from files."""

import pytest

from chassis import config
from chassis.config import ConfigError


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in ("KEY", "KEY_FILE", "DATABASE_URL", "DATABASE_URL_QUOTA", "DATABASE_PASSWORD"):
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


def test_services_that_share_a_process_have_a_database_each(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://host/one")
    monkeypatch.setenv("DATABASE_URL_QUOTA", "postgresql://host/quota")
    assert config.service_database_url().endswith("/one")
    assert config.service_database_url("quota").endswith("/quota")
