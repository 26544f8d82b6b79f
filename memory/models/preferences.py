"""How a user likes things done, version by version."""

from __future__ import annotations

from sqlalchemy import CheckConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memory.models.base import Base, Document, Moment, Owner


class Preferences(Base):
    """One valid version of the preferences document; the highest is in force."""

    __tablename__ = "preferences"
    __table_args__ = (CheckConstraint("version > 0", name="version"),)

    user_id: Mapped[Owner]
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    document: Mapped[str]
    structured: Mapped[Document]
    source: Mapped[str]
    created_at: Mapped[Moment]
