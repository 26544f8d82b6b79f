"""The declarative base and the column shapes that every table shares."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from sqlalchemy import ARRAY, DateTime, ForeignKey, MetaData, Text, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

from memory.ids import new_id

Owner = Annotated[UUID, mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)]
Id = Annotated[UUID, mapped_column(primary_key=True, default=new_id)]
Moment = Annotated[datetime, mapped_column(DateTime(timezone=True))]
Words = Annotated[list[str], mapped_column(ARRAY(Text), server_default=text("'{}'"), default=list)]
Document = Annotated[dict[str, Any], mapped_column(JSONB, server_default=text("'{}'"), default=dict)]


class Base(DeclarativeBase):
    """Names constraints by rule, so that a migration can drop what another made."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {str: Text}
