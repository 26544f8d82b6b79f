"""What a caller wants appended to a conversation, checked field by field before anything is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory.conversations.conversations import check_name
from memory.drafts.drafts import check_choice, check_moment, check_text
from memory.drafts.payloads import check_json
from memory.models import ROLES
from memory.models.conversations import FORMATS

MAX_CONTENT_BYTES = 1024 * 1024
MAX_BATCH = 1000


@dataclass(frozen=True, slots=True)
class MessageDraft:
    """A message before it is stored; `created_at` is aware. `content` may be empty where there is a `payload`.

    `client_id` is the caller's own id, unique in the conversation. `partial` is a reply whose stream was cut.
    `remember` asks for a memory of it. `where` is what the caller calls it, for errors: `messages.1`; empty where there
    is no other beside it.
    """

    role: str
    content: str
    client_id: str | None = None
    model: str | None = None
    payload: Any = None
    payload_format: str | None = None
    created_at: datetime | None = None
    remember: bool = False
    partial: bool = False
    where: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        check_choice("role", self.role, ROLES)
        if self.content.strip() or self.payload is None:
            check_text(self.content, "content", most=MAX_CONTENT_BYTES)
        for called, name in (("client_id", self.client_id), ("model", self.model)):
            if name is not None:
                check_name(name, called)
        if self.payload_format is not None:
            check_choice("format", self.payload_format, FORMATS)
        check_json(self.payload, "payload")
        check_moment("created_at", self.created_at)
        if not self.content.strip():
            # Nothing but white space is nothing: it must look so to whoever asks for what was said.
            object.__setattr__(self, "content", "")
