"""Settings are parsed once and fail loudly by name."""

from __future__ import annotations

import errno
import os
import stat
import threading

import pytest
from redis import Redis
from sqlalchemy import make_url

import config
from config import ConfigError, DataFolderError
from config.settings import PREFIX
from retrieval.query import DEFAULT_LIMIT, DEFAULT_TOKEN_BUDGET, LARGEST_LIMIT


@pytest.fixture
def env(tmp_path):
    return {"COMMONPLACE_HOME": str(tmp_path / "home")}


def test_the_defaults_are_those_of_the_readme(env):
    settings = config.load(env)
    assert (settings.soft_cap, settings.searches_per_minute, settings.token_budget) == (200, 10, 1000)
    assert settings.page_searches_per_minute == 240


def test_a_search_has_the_limits_of_retrieval_where_nothing_is_set(env):
    settings = config.load(env)
    assert (settings.max_results, settings.token_budget) == (DEFAULT_LIMIT, DEFAULT_TOKEN_BUDGET)


def test_a_search_can_be_set_to_as_many_results_as_may_be_asked_for_and_no_more(env):
    assert config.load({**env, "COMMONPLACE_MAX_RESULTS": str(LARGEST_LIMIT)}).max_results == LARGEST_LIMIT
    with pytest.raises(ConfigError, match="COMMONPLACE_MAX_RESULTS"):
        config.load({**env, "COMMONPLACE_MAX_RESULTS": str(LARGEST_LIMIT + 1)})


def test_what_is_named_like_a_setting_and_read_by_nothing_is_told_with_the_name_that_may_be_meant(env):
    wrong = {"SOFTCAP": "SOFT_CAP", "LLM_APIKEY": "LLM_API_KEY", "PORT": None}
    given = {f"{PREFIX}{name}": "1" for name in ("SOFT_CAP", "TOKEN", *wrong, "DATABASE_URL")}
    told = {f"{PREFIX}{name}": f"{PREFIX}{meant}" if meant else None for name, meant in wrong.items()}
    # The one that others know, too, has another name.
    told[f"{PREFIX}DATABASE_URL"] = "DATABASE_URL"
    assert config.unread({**env, **given, "HOME": "/", "XCOMMONPLACE": "1"}) == told
    assert config.unread({f"{PREFIX}home".lower(): "/"}) == {"commonplace_home": "COMMONPLACE_HOME"}


def test_what_kubernetes_tells_of_a_service_of_this_name_is_no_setting(env):
    address = "tcp://10.0.0.7:8765"
    told = {"PORT": address, "PORT_8765_TCP": address, "PORT_8765_TCP_ADDR": "10.0.0.7", "SERVICE_HOST": "10.0.0.7"}
    told |= {"SERVICE_PORT": "8765", "SERVICE_PORT_HTTP": "8765"}
    assert config.unread({**env, **{f"{PREFIX}{name}": value for name, value in told.items()}}) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COMMONPLACE_SOFT_CAP", "many"),
        ("COMMONPLACE_SOFT_CAP", "0"),
        ("COMMONPLACE_SEARCHES_PER_MINUTE", "-1"),
        ("COMMONPLACE_TOKEN_BUDGET", "100001"),
        ("COMMONPLACE_MIN_SCORE", "2"),
        ("COMMONPLACE_MIN_SCORE", "nan"),
        ("DATABASE_URL", "mysql://somewhere"),
        ("REDIS_URL", "localhost"),
        ("COMMONPLACE_SECRET_KEY", "short"),
        ("COMMONPLACE_SECRET_KEY_FILE", "/does/not/exist"),
        ("COMMONPLACE_LOG_LEVEL", "LOUD"),
        ("COMMONPLACE_PROVIDER_ADDRESSES", "private"),
        ("COMMONPLACE_LLAMACPP_URL", "ftp://x"),
        ("COMMONPLACE_LLAMACPP_URL", "http://[x"),
        ("COMMONPLACE_LLM_URL", "http://"),
        ("COMMONPLACE_LLM_URL", "http://:8080/v1"),
        ("DATABASE_URL", "postgresql://[bad/x"),
        ("DATABASE_URL", "postgresql://u:p@h:notaport/x"),
        ("DATABASE_URL", "postgresql://u:p@h:70000/x"),
        ("DATABASE_URL", "postgresql://h:/x"),
        ("DATABASE_URL", "postgresql:x"),
        ("REDIS_URL", "redis://127.0.0.1:notaport/0"),
        ("REDIS_URL", "redis:x"),
    ],
)
def test_a_bad_value_is_refused_by_name(env, name, value):
    with pytest.raises(ConfigError, match=name):
        config.load({**env, name: value})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("COMMONPLACE_SOFT_CAP", "0", "must be between 1 and 10,000,000, not 0"),
        ("COMMONPLACE_TOKEN_BUDGET", "100001", "must be between 1 and 100,000, not 100001"),
        ("COMMONPLACE_MIN_SCORE", "1.5", "must be between 0 and 1, not 1.5"),
    ],
)
def test_limits_are_written_out(env, name, value, said):
    with pytest.raises(ConfigError) as refused:
        config.load({**env, name: value})
    assert str(refused.value) == f"{name} {said}"


@pytest.mark.parametrize(
    "url", ["postgresql://", "postgresql://u:p@h", "postgresql://u:p/w@h:5432/", "postgres:///?dbname=notes"]
)
def test_an_address_without_the_name_of_a_database_is_refused_in_one_line(env, url):
    with pytest.raises(ConfigError) as refused:
        config.load({**env, "DATABASE_URL": url})
    said = "DATABASE_URL names no database: its name follows the host, as in postgresql://localhost/notes"
    assert str(refused.value) == said


def test_no_part_of_a_password_is_repeated(env):
    with pytest.raises(ConfigError, match="REDIS_URL") as refused:
        config.load({**env, "REDIS_URL": "redis://me:hid#den@127.0.0.1/0"})
    assert "hid" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///notes?host=/var/run/postgresql",
        "postgresql://u:p/w#?[@h:5432/notes",
        "postgresql://u:p@[::1]:5432/notes",
        "postgres://u@h/notes",
    ],
)
def test_an_address_that_the_driver_reads_is_taken_as_it_is(env, url):
    assert config.load({**env, "DATABASE_URL": url}).database_url == url
    assert make_url(url).database == "notes"


@pytest.mark.parametrize("url", ["redis://", "rediss://:p@h:6379/0", "REDIS://h/0"])
def test_redis_needs_no_host(env, url):
    taken = config.load({**env, "REDIS_URL": url}).redis_url
    assert taken == url.replace("REDIS", "redis")
    Redis.from_url(taken).close()


def test_a_home_that_cannot_be_made_is_refused_by_name(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="COMMONPLACE_HOME"):
        config.load({"COMMONPLACE_HOME": str(tmp_path / "file" / "home")})


def test_the_secret_is_kept_for_the_next_start(env):
    assert config.load(env).secret_key == config.load(env).secret_key


def test_the_secret_is_for_its_owner_alone(env):
    path = config.load(env).home / "secret.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_secret_is_on_the_disk_before_it_has_its_name_and_so_is_that(env, tmp_path, monkeypatch):
    """Where the power goes right after the first start, no empty file keeps all later ones from starting."""
    path, sync, written = tmp_path / "home" / "secret.key", os.fsync, []

    def write(descriptor):
        of = os.fstat(descriptor)
        written.append(("folder" if stat.S_ISDIR(of.st_mode) else of.st_size, path.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", write)
    kept = config.load(env).secret_key
    assert written == [(len(kept), False), ("folder", True)]


def test_processes_that_start_together_agree_on_the_secret(env):
    found = []
    threads = [threading.Thread(target=lambda: found.append(config.load(env).secret_key)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1


def test_a_home_that_cannot_be_written_to_is_told_from_a_bad_setting():
    # Not even root may make a file there.
    with pytest.raises(DataFolderError, match=r"^/proc/sys cannot be written to \(.+\): change its owner"):
        config.load({"COMMONPLACE_HOME": "/proc/sys"})


def spoil_by_a_folder(path):
    path.mkdir()


def spoil_by_few_characters(path):
    path.write_text("short")


def spoil_by_a_dead_link(path):
    path.symlink_to("nowhere")


SPOILED = {
    spoil_by_a_folder: "cannot be read (Is a directory)",
    spoil_by_few_characters: "has fewer than 32 characters",
    spoil_by_a_dead_link: "cannot be read (No such file or directory)",
}


@pytest.mark.parametrize(("spoil", "said"), SPOILED.items())
def test_a_kept_secret_that_is_spoiled_is_not_replaced(env, tmp_path, spoil, said):
    path = tmp_path / "home" / "secret.key"
    path.parent.mkdir()
    spoil(path)
    with pytest.raises(DataFolderError) as refused:
        config.load(env)
    advice = "put back the file that was there, or set COMMONPLACE_SECRET_KEY"
    assert str(refused.value) == f"the secret key {path} {said}: {advice}"
    assert list(path.parent.iterdir()) == [path]


def test_a_kept_secret_that_is_put_back_with_a_line_break_is_the_same(env, tmp_path):
    kept, path = config.load(env).secret_key, tmp_path / "home" / "secret.key"
    path.write_bytes(kept + b"\n")
    assert config.load(env).secret_key == kept


def test_the_secret_may_come_from_a_named_file(env, tmp_path):
    (tmp_path / "key").write_text("k" * 40 + "\n")
    assert config.load({**env, "COMMONPLACE_SECRET_KEY_FILE": str(tmp_path / "key")}).secret_key == b"k" * 40


def test_a_full_disk_is_told_from_a_folder_of_another_owner(env, monkeypatch):
    def fill(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fill)
    with pytest.raises(
        DataFolderError, match=r"cannot be written to \(No space left on device\): make room on its disk$"
    ):
        config.load(env)
