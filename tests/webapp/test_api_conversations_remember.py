"""What is remembered of a conversation, what is not, and the place that a memory leads back to."""

from __future__ import annotations

import pytest
from api_agent import ENTRIES, NOBODYS_ID, Agent, add_space, fields, memories_of, rows
from api_talk import Talk


@pytest.fixture
def talk(agent):
    return Talk(agent)


# --- remembered -------------------------------------------------------------------------------------------------------


def test_a_message_is_remembered_with_the_place_where_it_was_said(agent, talk):
    talk.say("Hello")
    message = talk.say("I am allergic to walnuts", remember=True, created_at="2024-05-01T10:00:00Z")
    memory = message["memory"]
    assert (memory["outcome"], memory["trace"]["reason"]) == ("created", "new")
    entry = agent.entry(memory["id"])
    assert (entry["text"], entry["role"], entry["space"], entry["created_at"]) == (
        "I am allergic to walnuts",
        "user",
        "default",
        "2024-05-01T10:00:00+00:00",
    )
    assert entry["source_message_id"] == message["id"]
    assert entry["source"] == {"message_id": message["id"], "conversation_id": talk.id, "sequence": 2}


def test_only_what_is_marked_is_remembered(agent, talk):
    results = talk.post(
        {
            "messages": [
                {"role": "user", "content": "Good morning"},
                {"role": "user", "content": "I am allergic to walnuts", "remember": True},
                {"role": "assistant", "content": "I will note that"},
                {"role": "assistant", "content": "The kitchen opens at nine", "remember": True},
            ]
        }
    ).json["results"]
    assert ["memory" in result for result in results] == [False, True, False, True]
    assert sorted(agent.texts()) == ["I am allergic to walnuts", "The kitchen opens at nine"]
    assert [agent.entry(results[n]["memory"]["id"])["role"] for n in (1, 3)] == ["user", "assistant"]


@pytest.mark.parametrize("address", ["messages", "merge"])
def test_what_the_soft_cap_took_is_said_once(agent, talk, address):
    assert agent.patch("/v1/spaces/default", {"soft_cap": 4}).status_code == 200
    said = [{"role": "user", "content": f"Box {n} holds {n * 7} screws", "remember": True} for n in range(10)]
    answer = agent.post(f"{talk.path}/{address}", {"messages": said}).json
    assert len(answer["trimmed"]) == 6
    results = answer["results"] if address == "messages" else answer["client"]["added"]
    assert [result["memory"]["trace"]["trimmed"] for result in results] == [[]] * 10


def test_a_message_is_remembered_in_the_space_of_its_conversation(agent, ada):
    talk = Talk(agent, space=add_space(ada, "work"))
    talk.say("The deadline is on Friday", remember=True)
    talk.change(space=None)
    talk.say("The cat is called Momo", remember=True)
    assert (agent.texts(space="work"), agent.texts(space="default")) == (
        ["The deadline is on Friday"],
        ["The cat is called Momo"],
    )


def test_said_twice_it_is_one_memory_of_the_first_place(agent, talk):
    first = talk.say("I am allergic to walnuts", remember=True)
    again = Talk(agent).say("I am allergic to walnuts!", remember=True)
    assert (again["memory"]["outcome"], again["memory"]["id"]) == ("merged", first["memory"]["id"])
    assert agent.entry(first["memory"]["id"])["source"]["message_id"] == first["id"]


def test_a_memory_that_had_no_place_gets_one(agent, talk):
    memory_id = agent.store("I am allergic to walnuts")
    assert agent.entry(memory_id)["source"] is None
    message = talk.say("I am allergic to walnuts", remember=True)
    assert agent.entry(memory_id)["source"]["message_id"] == message["id"]


def test_a_duplicate_is_remembered_once(agent, talk, ada):
    first = talk.say("I am allergic to walnuts", client_id="m-1", remember=True)
    again = talk.say("I am allergic to walnuts", client_id="m-1", remember=True)
    assert again["memory"] == {"id": first["memory"]["id"], "outcome": "none", "reason": "duplicate"}
    assert rows(ada, "SELECT repeat_count FROM memories") == [(0,)]


def test_a_duplicate_of_what_was_merged_leads_to_what_it_was_merged_with(agent, talk):
    Talk(agent).say("I am allergic to walnuts", remember=True)
    first, again = (talk.say("I am allergic to walnuts", client_id="m-1", remember=True) for _ in range(2))
    assert (first["memory"]["outcome"], again["memory"]["id"]) == ("merged", first["memory"]["id"])


def test_a_duplicate_in_the_same_call_leads_to_the_memory_of_the_first(talk):
    said = {"role": "user", "content": "I am allergic to walnuts", "client_id": "m-1", "remember": True}
    first, again = talk.post({"messages": [said, said]}).json["results"]
    assert (again["outcome"], again["memory"]["id"]) == ("duplicate", first["memory"]["id"])


def test_a_duplicate_leads_to_no_memory_that_is_gone_or_never_was(agent, talk):
    memory_id = talk.say("I am allergic to walnuts", client_id="m-1", remember=True)["memory"]["id"]
    agent.delete(f"{ENTRIES}/{memory_id}")
    talk.say("Good morning", client_id="m-2")
    again = [
        talk.say("I am allergic to walnuts", client_id="m-1", remember=True),
        talk.say("Good morning", client_id="m-2", remember=True),
    ]
    assert [result["memory"]["id"] for result in again] == [None, None]


def test_a_duplicate_does_not_tell_a_confined_token_of_another_space(client, agent, ada):
    work = add_space(ada, "work")
    talk = Talk(agent, external_id="vault-1")
    talk.say("I am allergic to walnuts", client_id="m-1", remember=True)
    talk.change(space=work)
    confined = Talk(Agent(client, ada.new_token("write", "read", space=work)), external_id="vault-1")
    again = confined.say("I am allergic to walnuts", client_id="m-1", remember=True)
    assert (confined.id, again["memory"]["id"]) == (talk.id, None)


def test_a_message_that_is_too_long_for_a_memory_is_kept_as_a_message(talk, ada):
    result = talk.say("word " * 14_000, remember=True)
    assert (result["outcome"], result["memory"]["reason"]) == ("stored", "too_long")
    assert memories_of(ada) == 0


@pytest.mark.parametrize("content", ["", "\u200b"])
def test_a_payload_without_words_makes_no_memory(talk, ada, content):
    result = talk.say(content, payload={"image": "…"}, remember=True)
    assert result["memory"] == {"id": None, "outcome": "none", "reason": "blank"}


def test_what_was_forgotten_is_not_remembered_again(agent, talk):
    memory_id = talk.say("The safe code is 4711", remember=True)["memory"]["id"]
    agent.delete(f"{ENTRIES}/{memory_id}")
    result = talk.say("The safe code is 4711", remember=True)
    assert (result["outcome"], result["memory"]["outcome"], result["memory"]["reason"]) == (
        "stored",
        "refused",
        "tombstone",
    )


def test_a_refused_batch_remembers_nothing(agent, talk):
    talk.say("Hello", client_id="m-1")
    response = talk.post(
        {
            "messages": [
                {"role": "user", "content": "I am allergic to walnuts", "remember": True},
                {"role": "user", "content": "Goodbye", "client_id": "m-1"},
            ]
        }
    )
    assert (response.status_code, agent.texts(), talk.said()) == (409, [], ["Hello"])


# --- recalled text ----------------------------------------------------------------------------------------------------


@pytest.fixture
def recalled(agent):
    """A block of memories as this server hands it to an agent."""
    agent.store("The spare key is under the third flower pot")
    block = agent.post("/v1/memory/context", {"query": "Where is the spare key?"}).json["context"]
    assert "third flower pot" in block
    return block


def test_recalled_text_is_marked_and_makes_no_memory(talk, recalled, ada):
    before = memories_of(ada)
    result = talk.say(recalled, remember=True)
    assert (result["recalled"], result["memory"]) == (True, {"id": None, "outcome": "none", "reason": "recalled"})
    assert talk.messages()[0]["content"] == recalled
    assert memories_of(ada) == before


def test_what_the_user_added_to_it_is_remembered(agent, talk, recalled):
    result = talk.say(f"{recalled}\n\nMy sister arrives on Sunday at noon", remember=True)
    assert (result["recalled"], result["memory"]["outcome"]) == (True, "created")
    assert agent.entry(result["memory"]["id"])["text"] == "My sister arrives on Sunday at noon"


def test_pasted_a_hundred_times_it_grows_no_memory(talk, recalled, ada):
    before = rows(ada, "SELECT id, repeat_count, importance FROM memories ORDER BY id")
    messages = [{"role": "user", "content": f"{recalled}\n", "remember": True} for _ in range(100)]
    talk.post({"messages": messages})
    assert rows(ada, "SELECT id, repeat_count, importance FROM memories ORDER BY id") == before


def test_what_a_search_found_is_known_by_its_words(agent, talk):
    agent.store("The spare key is under the third flower pot by the door")
    found = agent.found("Where is the spare key?")
    assert found == ["The spare key is under the third flower pot by the door"]
    result = talk.say(f"- {found[0]}", remember=True)
    assert (result["recalled"], result["memory"]["reason"]) == (True, "recalled")


def test_what_was_forgotten_and_is_found_in_its_conversation_is_refused_as_forgotten(agent, ada):
    told = "The boathouse of uncle Fridolin opens with four seven one one"
    talk = Talk(agent, external_id="boats")
    kept = talk.say(told, remember=True)["memory"]["id"]
    promised = "I shall tell nobody of it but the master of the harbour"
    talk.say(promised, role="assistant")
    agent.delete(f"{ENTRIES}/{kept}", undo=True)
    assert told in agent.tool("episode_search", query="boathouse").text
    again = talk.say(told, remember=True)
    plain = agent.post(ENTRIES, {"text": told}).json
    assert (again["recalled"], again["memory"]["reason"]) == (True, "tombstone")
    assert [again["memory"][each] for each in ("id", "outcome")] == [plain[each] for each in ("id", "outcome")]
    assert again["memory"]["trace"]["reason"] == plain["trace"]["reason"]
    assert talk.say(promised, remember=True)["memory"]["reason"] == "recalled"
    assert memories_of(ada) == 0


def test_a_confined_token_learns_nothing_of_what_was_recalled_in_another_space(client, agent, ada):
    work, health = add_space(ada, "work"), add_space(ada, "health")
    told = "The therapist of the user on Tuesdays is Dr. Okonkwo"
    agent.store(told, space="health")
    assert agent.found("Who is the therapist?", space="health") == [told]
    confined = Talk(Agent(client, ada.new_token("write", "read", space=work)), external_id="work-1")
    for said in (told, told[:45], f"{told} and Dr. Berg"):
        assert confined.say(said)["recalled"] is False
    assert confined.say(f"- {told}", remember=True)["memory"]["outcome"] == "created"
    there = Talk(Agent(client, ada.new_token("write", "read", space=health)), external_id="health-1")
    assert [there.say(said)["recalled"] for said in (told, told[:45])] == [True, True]


def test_recalled_text_is_neither_a_title_nor_searched_in_an_episode(talk, recalled, ada):
    talk.post(
        {
            "messages": [
                {"role": "user", "content": f"{recalled}\n\nWhat should I bring for the picnic?"},
                {"role": "assistant", "content": "Bread and cheese."},
            ]
        }
    )
    assert talk.head()["title"] == "What should I bring for the picnic?"
    episode = rows(ada, "SELECT text, searched FROM episodes")[0]
    assert episode.searched == "user: What should I bring for the picnic?\nassistant: Bread and cheese."
    assert "third flower pot" in episode.text


# --- a source that is given -------------------------------------------------------------------------------------------


def test_a_memory_may_name_its_source(agent, talk):
    message = talk.say("We agreed on blue")
    memory_id = agent.store("The door will be blue", source_message_id=message["id"], source_message="mine-7")
    entry = agent.entry(memory_id)
    assert (entry["source"]["message_id"], entry["source_message"]) == (message["id"], "mine-7")


def test_sources_are_in_lists_and_batches(agent, talk):
    ids = [talk.say(f"Point {n}")["id"] for n in range(3)]
    entries = [{"text": f"We agreed on point number {n}", "source_message_id": i} for n, i in enumerate(ids)]
    agent.post(f"{ENTRIES}/batch", {"entries": [*entries, {"text": "Nothing was said of this"}]})
    shown = agent.get(ENTRIES).json["entries"]
    assert [entry["source"] and entry["source"]["sequence"] for entry in shown] == [None, 3, 2, 1]


@pytest.mark.parametrize("bad", ["7", 7, NOBODYS_ID])
def test_a_source_that_is_no_message_is_refused(agent, bad):
    response = agent.post(ENTRIES, {"text": "A fact", "source_message_id": bad})
    assert (response.status_code, fields(response)) == (422, ["source_message_id"])
    assert agent.texts() == []


def test_a_restored_memory_has_its_source_again(agent, talk):
    message = talk.say("I am allergic to walnuts", remember=True)
    memory_id = message["memory"]["id"]
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    restored = agent.post(f"{ENTRIES}/{memory_id}/restore")
    assert restored.json["source"]["message_id"] == message["id"]


def test_a_memory_is_restored_when_its_conversation_is_gone(agent, talk):
    memory_id = talk.say("I am allergic to walnuts", remember=True)["memory"]["id"]
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    agent.delete(talk.path)
    restored = agent.post(f"{ENTRIES}/{memory_id}/restore")
    assert (restored.status_code, restored.json["text"], restored.json["source"]) == (
        200,
        "I am allergic to walnuts",
        None,
    )
