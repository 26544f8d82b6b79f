"""Calls of tools, for tests of the record of them."""

from __future__ import annotations

from memory.clock import utc_now
from memory.ids import new_id
from memory.models import Conversation, Message, Space

CALLS = "/v1/tool-calls"
PATHS = "/v1/tool-calls/paths"
CONVERSATION = "X-Commonplace-Conversation"
SPACE = "X-Commonplace-Space"
NOTES = "obsidian_manage_notes"


def converse(person, space="default", messages=1):
    """Add a conversation with messages; return its id and theirs."""
    now = utc_now()
    with person.session() as session:
        space_id = session.query(Space).filter_by(slug=space).one().id
        conversation = Conversation(user_id=person.id, id=new_id(), space_id=space_id, external_id=str(new_id()))
        conversation.created_at = conversation.updated_at = now
        conversation.message_count = messages
        session.add(conversation)
        session.flush()
        ids = [new_id() for _ in range(messages)]
        for number, message_id in enumerate(ids, 1):
            message = Message(user_id=person.id, id=message_id, conversation_id=conversation.id, sequence=number)
            message.role, message.content, message.token_count = "user", f"Turn {number}", 2
            message.correlation_id, message.created_at = "", now
            session.add(message)
        return str(conversation.id), [str(each) for each in ids]


def call(**fields):
    """Return a call that an agent of a notes application would report."""
    return {
        "tool": NOTES,
        "operation": "update",
        "affected_paths": ["Projects/alpha.md"],
        "duration_ms": 12.5,
        **fields,
    }


def report(agent, *calls):
    """Report calls as an agent does."""
    return agent.post(CALLS, {"calls": list(calls)})


def get(agent, address, **query):
    """Ask with a query that may name a path."""
    return agent.ask("GET", address, query_string=query)


def listed(agent, **query):
    """Return a page of the record."""
    answer = get(agent, CALLS, **query)
    assert answer.status_code == 200, answer.text
    return answer.json["calls"]
