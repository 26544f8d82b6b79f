"""Keyed digests and encryption at rest, all derived from one secret."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken

from memory.errors import ConflictError


class Keys:
    """Derives one key per purpose from the installation's secret (BLAKE2b, keyed by the secret)."""

    def __init__(self, secret: bytes) -> None:
        self._secret = hashlib.sha512(secret).digest()
        self._fernet = Fernet(urlsafe_b64encode(self._derive("encryption")))

    def _derive(self, purpose: str) -> bytes:
        return hashlib.blake2b(purpose.encode(), key=self._secret, digest_size=32).digest()

    def digest(self, purpose: str, text: str) -> bytes:
        """Return 32 bytes that name `text` for `purpose` and say nothing about it without the secret."""
        return hashlib.blake2b(text.encode(), key=self._derive(purpose), digest_size=32).digest()

    def password(self, purpose: str) -> str:
        """Return a stable password (64 hex digits) for a machine account."""
        return self._derive(f"password:{purpose}").hex()

    def encrypt(self, value: str) -> str:
        """Encrypt a credential for storage (Fernet: AES-128-CBC with HMAC-SHA256)."""
        return self._fernet.encrypt(value.encode()).decode()

    def decrypt(self, stored: str) -> str:
        """Undo `encrypt`; raises `ConflictError` when the secret has changed since."""
        try:
            return self._fernet.decrypt(stored.encode()).decode()
        except InvalidToken:
            message = "a stored key cannot be read, as the secret key of the server was replaced since: store it again"
            raise ConflictError(message) from None


def is_kept_of(kept: str, password: str) -> bool:
    """Tell whether `kept` is what PostgreSQL keeps of a password; True for what is not kept as SCRAM-SHA-256."""
    kind, *parts = kept.replace(":", "$").split("$")
    if kind != "SCRAM-SHA-256" or len(parts) != 4:
        return True
    rounds, salt, stored_key, _server_key = parts
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), b64decode(salt), int(rounds))
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    return hmac.compare_digest(hashlib.sha256(client_key).digest(), b64decode(stored_key))
