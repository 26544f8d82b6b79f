"""How a memory scored over time, and what comes near it, on its page."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from api_agent import ENTRIES, Agent, add_space, rows
from pages_browser import HTMX, at_browser, stored

from memory.clock import utc_now
from memory.embedding.models import active_model
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.models import Memory
from memory.record.journal import record_tool_call
from memory.record.recall_history import recalls_of
from retrieval.lookup.nearest import neighbours_of

TEXT = "The studio key hangs behind the blue door."
OTHER = "The studio key lies under the mat."


@pytest.fixture
def agent(app, ada) -> Agent:
    return Agent(app.test_client(), ada.headers)


def history(person, memory_id, most=30):
    with person.session() as session:
        return recalls_of(session, person.id, memory_id, most=most)


def call(person, memory_id, *, ago=0, **fields):
    """Record a search that answered with a memory, as it was recorded before scores were kept."""
    values = {"tool": "memory_search", "operation": "search", "success": True, "hits": 1, "result": {}, **fields}
    with person.session() as session:
        record_tool_call(
            session,
            person.id,
            correlation_id="c",
            arguments={},
            affected_ids=[memory_id],
            duration_ms=1.0,
            created_at=utc_now() - timedelta(minutes=ago),
            **values,
        )


# --- what is recorded ---


@pytest.mark.parametrize("ask", ["tool", "query", "context"])
def test_a_search_keeps_the_score_of_each_hit(agent, ada, ask):
    ids = [agent.store(TEXT), agent.store(OTHER)]
    if ask == "context":
        agent.post("/v1/memory/context", {"query": "where is the studio key"})
    else:
        agent.tool("memory_search" if ask == "tool" else "query_memory", query="where is the studio key")
    for memory_id in ids:
        (recall,) = history(ada, memory_id)
        last = agent.entry(memory_id)["last_scores"]
        assert recall.hits == 2
        assert recall.scores == pytest.approx({name: last[name] for name in recall.scores}, abs=1e-4)
    assert sorted(history(ada, memory_id)[0].rank for memory_id in ids) == [1, 2]


def test_a_cell_of_a_notebook_keeps_the_scores_as_well(reader, ada):
    memory_id = stored(ada, TEXT)
    home = reader.get("/", follow_redirects=True)
    made = reader.post(re.search(r'action="(/notebooks/[^"/]+/cells)"', home.text).group(1), data={"kind": "recall"})
    page = reader.get(made.location).text
    run = re.findall(r'action="(/notebooks/[^"]+/run)"', page)[-1]
    reader.post(run, data={"q": "studio key"})
    assert history(ada, memory_id)[0].scores is not None


def test_incognito_keeps_no_score(agent, ada):
    memory_id = agent.store(TEXT)
    quiet = agent.in_session("quiet")
    quiet.post("/v1/memory/incognito/start", {})
    quiet.tool("memory_search", query="studio key")
    assert history(ada, memory_id) == []


def test_recalls_come_oldest_first_and_the_last_ones_only(ada):
    memory_id = stored(ada, TEXT)
    for ago in (3, 2, 1):
        call(ada, memory_id, ago=ago, hits=ago)
    assert [recall.hits for recall in history(ada, memory_id)] == [3, 2, 1]
    assert [recall.hits for recall in history(ada, memory_id, most=2)] == [2, 1]


@pytest.mark.parametrize(
    "fields",
    [{"operation": "read", "tool": "memory_get"}, {"success": False}, {"origin": "external"}, {"operation": "create"}],
)
def test_what_was_no_recall_does_not_count(ada, fields):
    memory_id = stored(ada, TEXT)
    call(ada, memory_id, **fields)
    assert history(ada, memory_id) == []


@pytest.mark.parametrize("result", [None, {}, {"redacted": True}, {"scores": []}, {"scores": [[1.0]]}, {"scores": 7}])
def test_a_score_that_is_not_there_is_not_made_up(ada, result):
    memory_id = stored(ada, TEXT)
    call(ada, memory_id, result=result)
    (recall,) = history(ada, memory_id)
    assert (recall.rank, recall.scores) == (1, None)


def test_recalls_of_others_are_not_seen(agent, ada, bob):
    memory_id = agent.store(TEXT)
    agent.tool("memory_search", query="studio key")
    assert len(history(ada, memory_id)) == 1
    assert history(bob, memory_id) == []


def test_scores_beside_a_forgotten_memory_go_with_the_call(agent, ada):
    kept, gone = agent.store(TEXT), agent.store(OTHER)
    agent.tool("memory_search", query="where is the studio key")
    agent.delete(f"{ENTRIES}/{gone}")
    assert [recall.scores for recall in history(ada, kept)] == [None]


# --- the page ---


def test_a_memory_that_was_never_recalled_says_so(reader, ada):
    assert "No search has answered with it yet." in reader.get(f"/memories/{stored(ada, TEXT)}").text


def test_the_page_draws_each_recall_and_tells_its_numbers(reader, agent):
    memory_id = agent.store(TEXT)
    for question in ("studio key", "blue door", "where is the key"):
        agent.tool("memory_search", query=question)
    text = reader.get(f"/memories/{memory_id}").text
    pictures = re.findall(
        r'<svg[^>]*role="img"[^>]*aria-label="(\w+) at each recall[^"]*"[^>]*>(.*?)</svg>', text, re.S
    )
    assert [name for name, _ in pictures] == ["Relevance", "Recency", "Importance", "Total"]
    assert {drawn.count("bar-fill") for _, drawn in pictures} == {3}
    assert "style=" not in text
    total = agent.entry(memory_id)["last_scores"]["total"]
    assert f"<td>{total:.2f}</td>" in text.split("<tbody>")[-1].split("</tr>")[0]
    assert "1st of 1" in text


def test_a_total_is_never_more_than_what_a_full_column_stands_for(reader, ada):
    memory_id = stored(ada, TEXT)
    for ago, total in ((9, 0.31), (5, 1.02), (1, 1.03)):
        found = {"ids": [str(memory_id)], "scores": [[1.0, 0.6, 0.2, total]]}
        call(ada, memory_id, ago=ago, result=found)
    drawn = reader.get(f"/memories/{memory_id}").text.split('aria-label="Total')[1].split("</div>")[0]
    assert re.findall(r'bar-value">(.*?)<|bar-weight"[^>]*>(.*?)<', drawn) == [("1.03", ""), ("", "of 1.03")]


def test_a_recall_without_a_score_is_told_and_not_drawn(reader, agent, ada):
    memory_id = agent.store(TEXT)
    call(ada, memory_id, ago=5)
    assert 'role="img"' not in reader.get(f"/memories/{memory_id}").text
    for question in ("studio key", "blue door"):
        agent.tool("memory_search", query=question)
    text = reader.get(f"/memories/{memory_id}").text
    assert "3 recalls in numbers" in text
    assert "not recorded" in text
    assert text.count("bar-total bar-fill") == 2


def test_one_value_alone_is_not_drawn(reader, agent):
    memory_id = agent.store(TEXT)
    agent.tool("memory_search", query="studio key")
    text = reader.get(f"/memories/{memory_id}").text
    assert "1 recall in numbers" in text
    assert 'role="img"' not in text


# --- neighbours ---


@pytest.fixture
def near(ada):
    """Three memories with vectors: one, one like it, and one about something else."""
    ids = [stored(ada, text) for text in (TEXT, OTHER, "Bob likes to swim in cold lakes.")]
    ada.embed()
    return ids


def cosines(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"cosine (-?\d\.\d\d)", text)]


def test_neighbours_come_nearest_first(reader, ada, near):
    third = stored(ada, "Behind the blue door hangs a key: it opens the studio.")
    ada.embed()
    text = reader.get(f"/memories/{near[0]}/neighbours", headers=HTMX).text
    assert re.findall(r'href="/memories/([0-9a-f-]{36})"', text) == [str(third), str(near[1])]
    assert cosines(text) == sorted(cosines(text), reverse=True)
    assert 0.4 < cosines(text)[0] < 1
    assert "very near (cosine" in text


def test_what_has_nothing_to_do_with_it_does_not_come_near(reader, near):
    text = reader.get(f"/memories/{near[2]}/neighbours").text
    assert cosines(text) == []
    assert "Nothing comes near it." in text
    assert "Bob" not in reader.get(f"/memories/{near[0]}/neighbours").text


def test_a_memory_that_is_the_only_one_with_a_vector_says_so(reader, ada):
    alone = stored(ada, TEXT)
    ada.embed()
    assert "Nothing else in this space has a vector." in reader.get(f"/memories/{alone}/neighbours").text


def test_the_cosine_is_that_of_the_vectors(reader, ada, near):
    text = reader.get(f"/memories/{near[0]}/neighbours").text
    statement = "SELECT 1 - (a.vector <=> b.vector) FROM embeddings a, embeddings b WHERE a.memory_id = :a"
    exact = rows(ada, f"{statement} AND b.memory_id = :b", a=near[0], b=near[1])[0][0]
    assert cosines(text)[0] == pytest.approx(exact, abs=0.005)


def test_the_page_asks_for_neighbours_when_they_come_into_view(reader, near):
    text = reader.get(f"/memories/{near[0]}").text
    assert OTHER not in text
    assert f'hx-get="/memories/{near[0]}/neighbours"' in text
    assert f'href="/memories/{near[0]}/neighbours"' in text


def test_a_memory_without_a_vector_has_no_neighbours(reader, ada, near):
    waiting = stored(ada, "The studio key hangs on a hook.")
    text = reader.get(f"/memories/{waiting}/neighbours").text
    assert cosines(text) == []
    assert "It has no vector yet" in text


def test_a_text_that_was_just_changed_has_no_neighbours_of_its_old_words(reader, agent, near):
    agent.patch(f"{ENTRIES}/{near[0]}", {"text": "Carla plays the tuba."})
    assert cosines(reader.get(f"/memories/{near[0]}/neighbours").text) == []


@pytest.mark.parametrize("how", ["archived", "forgotten", "moved", "expired"])
def test_what_is_out_of_reach_is_no_neighbour(reader, agent, ada, near, how):
    if how == "archived":
        agent.patch(f"{ENTRIES}/{near[1]}", {"status": "archived"})
    elif how == "forgotten":
        with ada.session() as session:
            forget(session, ada.id, near[1], keys=ada.runtime.keys, now=utc_now(), actor="test", undo=UNDO_WINDOW)
    elif how == "moved":
        add_space(ada, "attic")
        with ada.session() as session:
            space = rows(ada, "SELECT id FROM spaces WHERE slug = 'attic'")[0][0]
            session.get_one(Memory, (ada.id, near[1])).space_id = space
    else:
        with ada.session() as session:
            session.get_one(Memory, (ada.id, near[1])).expires_at = utc_now() - timedelta(minutes=1)
    assert OTHER not in reader.get(f"/memories/{near[0]}/neighbours").text


def test_above_a_size_the_index_answers_the_same(ada, near):
    with ada.session() as session:
        memory, model = session.get_one(Memory, (ada.id, near[0])), active_model(session, ada.id)
        small, large = (neighbours_of(session, memory, model, scope_size=size, most=5) for size in (3, 10**6))
    assert [each for each, _ in small] == [each for each, _ in large] == near[1:]


def test_strangers_and_incognito_see_no_neighbours(app, reader, bob, near):
    path = f"/memories/{near[0]}/neighbours"
    assert at_browser(app, bob).get(path).status_code == 404
    assert reader.get(f"/memories/{uuid4()}/neighbours").status_code == 404
    reader.post("/incognito/start")
    assert OTHER not in reader.get(path).text
