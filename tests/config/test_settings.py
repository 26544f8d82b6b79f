"""Settings are parsed once and fail loudly by name."""

from __future__ import annotations

import stat
import threading

import pytest

import config
from config import ConfigError


@pytest.fixture
def env(tmp_path):
    return {"COMMONPLACE_HOME": str(tmp_path / "home")}


def test_the_defaults_are_those_of_the_readme(env):
    settings = config.load(env)
    assert (settings.soft_cap, settings.searches_per_minute, settings.token_budget) == (200, 10, 1000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COMMONPLACE_SOFT_CAP", "many"),
        ("COMMONPLACE_SOFT_CAP", "0"),
        ("COMMONPLACE_SEARCHES_PER_MINUTE", "-1"),
        ("COMMONPLACE_MIN_SCORE", "2"),
        ("COMMONPLACE_MIN_SCORE", "nan"),
        ("DATABASE_URL", "mysql://somewhere"),
        ("REDIS_URL", "localhost"),
        ("COMMONPLACE_SECRET_KEY", "short"),
        ("COMMONPLACE_SECRET_KEY_FILE", "/does/not/exist"),
        ("COMMONPLACE_LOG_LEVEL", "LOUD"),
        ("COMMONPLACE_LLAMACPP_URL", "ftp://x"),
    ],
)
def test_a_bad_value_is_refused_by_name(env, name, value):
    with pytest.raises(ConfigError, match=name):
        config.load({**env, name: value})


def test_a_home_that_cannot_be_made_is_refused_by_name(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="COMMONPLACE_HOME"):
        config.load({"COMMONPLACE_HOME": str(tmp_path / "file" / "home")})


def test_the_secret_is_kept_for_the_next_start(env):
    assert config.load(env).secret_key == config.load(env).secret_key


def test_the_secret_is_for_its_owner_alone(env):
    path = config.load(env).home / "secret.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_processes_that_start_together_agree_on_the_secret(env):
    found = []
    threads = [threading.Thread(target=lambda: found.append(config.load(env).secret_key)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1


def test_the_secret_may_come_from_a_named_file(env, tmp_path):
    (tmp_path / "key").write_text("k" * 40 + "\n")
    assert config.load({**env, "COMMONPLACE_SECRET_KEY_FILE": str(tmp_path / "key")}).secret_key == b"k" * 40
