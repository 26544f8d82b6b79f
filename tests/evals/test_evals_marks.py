from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner
from sqlalchemy import text

from evals.cli import eval_group
from evals.examine import Examiner
from evals.marks import in_words, read
from evals.policies import default_only
from evals.report import run
from memory.drafts.drafts import Draft
from memory.notebooks.marks import mark_right
from memory.spaces.spaces import create_space
from memory.storage.database import user_session
from memory.writing.remember import remember_many
from tasks.runtime import Runtime

NOW = datetime(2024, 1, 1, tzinfo=UTC)
KEY, BEES = "The spare key is under the third flowerpot", "Bob keeps bees on the roof"
WHERE, WHO = "Where is the spare key?", "Who keeps bees?"
COUNTED = ("memories", "last_scores", "audit_events", "tool_calls", "recall_marks", "cached_embeddings")
Place = tuple[Runtime, UUID]


@pytest.fixture
def marked(newcomer: Place) -> tuple[Place, list[UUID]]:
    """Somebody who has two memories, in two spaces, and marked each as the right answer to a question."""
    runtime, user_id = newcomer
    runtime.backfill.adopt(user_id)
    ids: list[UUID] = []
    with user_session(runtime.sessions, user_id) as session:
        create_space(session, user_id, "garden", soft_cap=200, now=NOW, actor="test")
        for space, said, asked in (("default", KEY, WHERE), ("garden", BEES, WHO)):
            (told,) = remember_many(session, user_id, space, [Draft(said)], keys=runtime.keys, now=NOW, actor="test")
            assert told.id is not None
            ids.append(told.id)
            mark_right(session, user_id, asked, told.id, now=NOW)
    runtime.backfill.run()
    return newcomer, ids


def examine(place: Place) -> tuple[int, float | None]:
    runtime, user_id = place
    with user_session(runtime.sessions, user_id) as session:
        data, places = read(session, user_id, keys=runtime.keys, now=NOW)
    return data.unscored, run(Examiner(runtime, places, NOW), data, default_only()).main.mean("recall@1")


def count(place: Place) -> list[int]:
    with user_session(place[0].sessions, place[1]) as session:
        return [session.scalar(text(f"SELECT count(*) FROM {each}")) or 0 for each in COUNTED]


def test_each_question_is_asked_of_the_space_of_its_answer(marked: tuple[Place, list[UUID]]) -> None:
    assert examine(marked[0]) == (0, 1.0)


def test_asking_leaves_no_trace(marked: tuple[Place, list[UUID]]) -> None:
    before = count(marked[0])
    examine(marked[0])
    assert count(marked[0]) == before


def test_what_no_search_looks_at_is_no_evidence(marked: tuple[Place, list[UUID]]) -> None:
    (runtime, user_id), ids = marked
    with user_session(runtime.sessions, user_id) as session:
        session.execute(text("UPDATE memories SET status = 'archived' WHERE id = :id"), {"id": ids[0]})
    assert examine(marked[0]) == (1, 1.0)


def test_the_marks_of_others_are_not_read(marked: tuple[Place, list[UUID]], place: Place) -> None:
    with user_session(place[0].sessions, place[1]) as session:
        data, _ = read(session, place[1], keys=place[0].keys, now=NOW)
    assert data.questions == ()
    assert "There are no marked questions" in (in_words(data) or "")


def test_the_ids_of_questions_do_not_tell_them(marked: tuple[Place, list[UUID]]) -> None:
    (runtime, user_id), _ = marked
    with user_session(runtime.sessions, user_id) as session:
        data, _ = read(session, user_id, keys=runtime.keys, now=NOW)
        again, _ = read(session, user_id, keys=runtime.keys, now=NOW)
    assert [each.id for each in data.questions] == [each.id for each in again.questions]
    assert all(len(each.id) == 24 and each.id.isalnum() for each in data.questions)


def test_the_command_warns_of_few_marks_and_keeps_no_text(
    marked: tuple[Place, list[UUID]], kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (runtime, user_id), _ = marked
    with user_session(runtime.sessions, user_id) as session:
        email = session.scalar(text("SELECT email FROM users WHERE id = :id"), {"id": user_id})
    monkeypatch.setenv("DATABASE_URL", runtime.databases.owner)
    monkeypatch.setenv("COMMONPLACE_SECRET_KEY", runtime.settings.secret_key.decode())
    result = CliRunner().invoke(eval_group, ["marks", "--email", str(email)])
    with user_session(runtime.sessions, user_id) as session:
        away = "provider_type = 'openai', endpoint_url = 'http://127.0.0.1:9/v1'"
        session.execute(text(f"UPDATE embedding_models SET {away}"))
    unanswered = CliRunner().invoke(eval_group, ["marks", "--email", str(email), "--no-save"])
    with user_session(runtime.sessions, user_id) as session:
        session.execute(text("UPDATE embedding_models SET state = 'building'"))
    stopped = CliRunner().invoke(eval_group, ["marks", "--email", str(email), "--no-save"])
    assert (unanswered.exit_code, "Error: the embedding model made no vector" in unanswered.stderr) == (1, True)
    assert (stopped.exit_code, "Error: there is no embedding model" in stopped.stderr) == (1, True)
    assert (result.exit_code, "Only 2 marked questions" in result.stderr) == (0, True), result.output
    (run_file,) = (kept / "evals").iterdir()
    values = json.loads(run_file.read_text())
    measures = values["variants"]["balanced"]["measures"]
    assert (measures["MRR"]["mean"], "safety" in measures) == (1.0, False)
    assert not [word for word in ("flowerpot", "spare", "bees", str(email)) if word in run_file.read_text()]
