"""What a process makes of its settings."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

import config
from tasks.runtime import build, patient


def built(home, **settings):
    environment = {"COMMONPLACE_HOME": str(home), "DATABASE_URL": "postgresql://u@127.0.0.1:9/nothing_test", **settings}
    runtime = build(config.load(environment))
    runtime.close()
    return runtime


def test_without_settings_there_is_no_redis_and_no_chat_model(tmp_path):
    runtime = built(tmp_path)
    assert (runtime.redis, runtime.chat_model) == (None, None)


def test_no_statement_takes_longer_than_its_limit(runtime):
    limited = build(runtime.settings, limit=0.3)
    with limited.sessions() as session, pytest.raises(OperationalError, match="QueryCanceled"):
        session.execute(text("SELECT pg_sleep(20)"))
    limited.close()


def test_a_redis_that_is_named_is_used_and_not_waited_for(tmp_path):
    assert built(tmp_path, REDIS_URL="redis://127.0.0.1:9/0").redis is not None


def test_a_chat_model_is_named_by_its_settings(tmp_path):
    settings = {"URL": "http://127.0.0.1:9/v1", "MODEL": "tiny", "API_KEY": " s3cret ", "TIMEOUT": "90.5"}
    model = built(tmp_path, **{f"COMMONPLACE_LLM_{name}": value for name, value in settings.items()}).chat_model
    assert (model.url, model.model, model.api_key) == ("http://127.0.0.1:9/v1", "tiny", "s3cret")
    assert (model.timeout, patient(model).timeout) == (90.5, 90.5)


def test_a_chat_model_has_longer_for_what_nobody_waits_for(tmp_path):
    model = built(tmp_path, COMMONPLACE_LLM_URL="http://127.0.0.1:9/v1").chat_model
    assert (model.timeout, patient(model).timeout) == (20, 60)


def test_settings_do_not_show_the_key_of_the_chat_model(tmp_path):
    environment = {"COMMONPLACE_HOME": str(tmp_path), "COMMONPLACE_LLM_API_KEY": "s3cret"}
    assert "s3cret" not in repr(config.load(environment))


def test_an_address_that_is_none_is_refused_by_name(tmp_path):
    with pytest.raises(config.ConfigError, match="COMMONPLACE_LLM_URL"):
        config.load({"COMMONPLACE_HOME": str(tmp_path), "COMMONPLACE_LLM_URL": "localhost:8080"})
