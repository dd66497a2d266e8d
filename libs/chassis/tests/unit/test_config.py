"""Settings from the environment, and secrets from files."""

import pytest

from chassis import config
from chassis.config import ConfigError


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in ("KEY", "KEY_FILE", "DATABASE_URL", "DATABASE_URL_QUOTA"):
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


def test_a_file_variable_left_empty_counts_as_unset(monkeypatch):
    monkeypatch.setenv("KEY_FILE", "")
    assert config.text("KEY", "default") == "default"
    with pytest.raises(ConfigError, match="KEY is not set"):
        config.text("KEY")


def test_services_that_share_a_process_have_a_database_each(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://host/one")
    monkeypatch.setenv("DATABASE_URL_QUOTA", "postgresql://host/quota")
    assert config.service_database_url().endswith("/one")
    assert config.service_database_url("quota").endswith("/quota")
