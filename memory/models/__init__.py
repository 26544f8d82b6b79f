"""The tables. Importing this package registers all of them on `Base.metadata`."""

from memory.models.accounts import DEFAULT_SPACE, Share, Space, Theme, Token, User
from memory.models.base import Base
from memory.models.conversations import (
    Conversation,
    Episode,
    EpisodeEmbedding,
    EpisodePosting,
    Message,
    SessionState,
)
from memory.models.embeddings import CachedEmbedding, Embedding, EmbeddingModel, ProviderSetting
from memory.models.entities import Entity, EntityEmbedding, EntityMention, EntityPosting
from memory.models.facts import Fact
from memory.models.journal import AuditEvent, AuditLink, IncognitoSession, ToolCall
from memory.models.memories import (
    ROLES,
    SCORE_PARTS,
    STATUSES,
    TYPES,
    Forgotten,
    LastScore,
    Memory,
    PossibleUpdate,
    Posting,
    Tombstone,
)
from memory.models.notebooks import KINDS, Cell, Notebook, RecallMark
from memory.models.preferences import Preferences
from memory.models.revisions import Revision, Wording
from memory.models.system import ModelFailure, RateCount, Total

__all__ = [
    "DEFAULT_SPACE",
    "KINDS",
    "ROLES",
    "SCORE_PARTS",
    "STATUSES",
    "TYPES",
    "AuditEvent",
    "AuditLink",
    "Base",
    "CachedEmbedding",
    "Cell",
    "Conversation",
    "Embedding",
    "EmbeddingModel",
    "Entity",
    "EntityEmbedding",
    "EntityMention",
    "EntityPosting",
    "Episode",
    "EpisodeEmbedding",
    "EpisodePosting",
    "Fact",
    "Forgotten",
    "IncognitoSession",
    "LastScore",
    "Memory",
    "Message",
    "ModelFailure",
    "Notebook",
    "PossibleUpdate",
    "Posting",
    "Preferences",
    "ProviderSetting",
    "RateCount",
    "RecallMark",
    "Revision",
    "SessionState",
    "Share",
    "Space",
    "Theme",
    "Token",
    "Tombstone",
    "ToolCall",
    "Total",
    "User",
    "Wording",
]
