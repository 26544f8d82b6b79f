"""The tables. Importing this package registers all of them on `Base.metadata`."""

from memory.models.accounts import Space, Theme, Token, User
from memory.models.base import Base
from memory.models.embeddings import Embedding, EmbeddingModel, ProviderSetting
from memory.models.journal import AuditEvent, IncognitoSession, ToolCall
from memory.models.memories import (
    ROLES,
    STATUSES,
    TYPES,
    Forgotten,
    LastScore,
    Memory,
    PossibleUpdate,
    Posting,
    Tombstone,
)
from memory.models.system import RateCount

__all__ = [
    "ROLES",
    "STATUSES",
    "TYPES",
    "AuditEvent",
    "Base",
    "Embedding",
    "EmbeddingModel",
    "Forgotten",
    "IncognitoSession",
    "LastScore",
    "Memory",
    "PossibleUpdate",
    "Posting",
    "ProviderSetting",
    "RateCount",
    "Space",
    "Theme",
    "Token",
    "Tombstone",
    "ToolCall",
    "User",
]
