from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evals.throwaway import throwaway
from memory.database import user_session
from memory.spaces import get_space

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def test_it_is_ready_for_use_and_gone_afterwards() -> None:
    with throwaway(now=NOW) as (runtime, user_id):
        home = runtime.settings.home
        with user_session(runtime.sessions, user_id) as session:
            assert get_space(session, user_id, "default").documents == 0
    assert not home.exists()
    assert runtime.server is not None
    assert not runtime.server.alive()


def test_the_real_database_is_never_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    with throwaway(now=NOW) as (runtime, _):
        assert runtime.settings.database_url is None


def test_a_failure_cleans_up_as_well() -> None:
    homes = []
    with pytest.raises(RuntimeError, match="measured too much"), throwaway(now=NOW) as (runtime, _):  # noqa: PT012
        homes.append(runtime.settings.home)
        raise RuntimeError("measured too much")
    assert not homes[0].exists()
