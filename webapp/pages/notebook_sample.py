"""The notebook of a first visit: three steps that run as they stand."""

from __future__ import annotations

from sqlalchemy import select

from memory.models import AuditEvent, Notebook
from memory.notebooks.cells import list_cells
from memory.notebooks.notebooks import Step, create_notebook, latest_notebook
from memory.spaces.spaces import lock_spaces
from webapp.context import credential, session, utc_now
from webapp.operations import is_incognito

TITLE = "First steps"
WELCOME = """\
**Three steps.** Press *Remember*, then *Run* in each cell, or Ctrl+Enter in it; or *Run all* above.

1. Remember something, and see what was made of it.
2. Ask for it, and see why it is found. Move a slider: the order follows.
3. See what an agent would be told.

Press *Forget* when you are done: the memory leaves every cell at once. For ten minutes you can take that back,
or let it go *for good, now*.
"""
STEPS: tuple[Step, ...] = (
    ("note", {"text": WELCOME}),
    ("remember", {"text": "I always drink my tea without sugar.", "type": "preference", "saved": True}),
    ("recall", {"q": "Do I drink my tea with sugar?"}),
    ("context", {"q": "Should the tea have sugar?", "budget": 300}),
)


def first_notebook() -> Notebook | None:
    """Return the user's latest notebook, on a first visit the sample; None for who has deleted all of theirs."""
    who = credential()
    found = latest_notebook(session(), who.user_id)
    if found is not None or is_incognito(None) or _had_one():
        return found
    # A browser may open several pages at once, and the first of them makes the sample for all.
    lock_spaces(session(), who.user_id)
    if (found := latest_notebook(session(), who.user_id)) is not None:
        return found
    now = utc_now()
    sample = create_notebook(session(), who.user_id, TITLE, now=now, actor=who.actor, steps=STEPS)
    sample_id = sample.id
    note = list_cells(session(), who.user_id, sample_id, now)[0]
    note.output, note.ran_at, note.duration_ms = {}, now, 0.0
    session().commit()
    return session().get_one(Notebook, (who.user_id, sample_id))


def _had_one() -> bool:
    mine = (AuditEvent.user_id == credential().user_id, AuditEvent.action == "notebook.created")
    return session().scalar(select(AuditEvent.id).where(*mine).limit(1)) is not None
