"""The demo account's login, which everybody knows."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from memory.accounts.accounts import in_one_form, is_password
from memory.models import User

EMAIL = "robin@example.com"
PASSWORD = "commonplace-demo"  # noqa: S105 - printed on every start, and accepted on this machine alone


def is_demo(email: str, password: str) -> bool:
    """Tell whether somebody logs in by what everybody knows."""
    return (email.strip().lower(), in_one_form(password)) == (EMAIL, PASSWORD)


def known_admin(session: Session) -> UUID | None:
    """Return the id of the demo while everybody knows the password of it and it is an admin; needs the owner's rights.

    Whoever is on this machine may then read what anybody keeps here: an admin makes tokens that act for others.
    """
    demo = session.scalar(select(User).where(User.email == EMAIL, User.role == "admin", User.disabled_at.is_(None)))
    return demo.id if demo is not None and is_password(demo, PASSWORD) else None
