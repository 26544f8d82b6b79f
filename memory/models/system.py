"""What belongs to no user."""

from __future__ import annotations

from sqlalchemy import BigInteger, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from memory.models.base import Base, Moment


class Total(Base):
    """How often something was done, of all users together, up to a moment: an action of the record, calls, failures.

    What came after that moment is counted when it is asked for (`memory.record.telemetry`).
    """

    __tablename__ = "totals"

    name: Mapped[str] = mapped_column(primary_key=True)
    total: Mapped[int] = mapped_column(BigInteger)
    counted_until: Mapped[Moment]


class RateCount(Base):
    """How often something was done in one window; the key is a digest. Unlogged: a crash may forget it."""

    __tablename__ = "rate_counts"
    __table_args__ = {"prefixes": ["UNLOGGED"]}  # noqa: RUF012 - SQLAlchemy declares it, as no class variable

    key: Mapped[str] = mapped_column(primary_key=True)
    window_start: Mapped[Moment] = mapped_column(primary_key=True)
    count: Mapped[int]


class ModelFailure(Base):
    """What kept a language model of the server from answering when it was asked last; gone once it answers.

    `model` is a digest of its address and name, so that another one is not taken for it.
    """

    __tablename__ = "model_failures"

    model: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    error: Mapped[str]
    failed_at: Mapped[Moment]
