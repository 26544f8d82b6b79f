"""Digests and encryption by one secret."""

from __future__ import annotations

import pytest

from memory.errors import ConflictError
from memory.keys import Keys

KEYS, OTHERS = Keys(b"a secret of some length, for tests"), Keys(b"another secret of some length here")


def test_what_was_encrypted_can_be_decrypted():
    assert KEYS.decrypt(KEYS.encrypt("sk-123 ü")) == "sk-123 ü"


def test_the_stored_form_does_not_show_the_value():
    assert "sk-123" not in KEYS.encrypt("sk-123")


def test_another_secret_does_not_open_it():
    with pytest.raises(ConflictError, match="key"):
        OTHERS.decrypt(KEYS.encrypt("sk-123"))


def test_a_damaged_value_does_not_open():
    with pytest.raises(ConflictError):
        KEYS.decrypt("nonsense")


def test_digests_agree_with_themselves():
    assert KEYS.digest("tombstone", "text") == Keys(b"a secret of some length, for tests").digest("tombstone", "text")


def test_digests_depend_on_purpose_text_and_secret():
    digests = {
        KEYS.digest("tombstone", "text"),
        KEYS.digest("marks", "text"),
        KEYS.digest("tombstone", "texts"),
        OTHERS.digest("tombstone", "text"),
    }
    assert len(digests) == 4


def test_each_role_has_a_password_of_its_own():
    assert KEYS.password("one") == KEYS.password("one") != KEYS.password("two")
