"""One frozen `Settings`, parsed once at the edge and failing loudly by name."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

N = TypeVar("N", int, float)
D = TypeVar("D")

SHORTEST_SECRET = 32
PREFIX = "COMMONPLACE_"
# Read elsewhere: the path of the file that holds the secret, the token of `bench http`, and a switch of the tests of
# other memory systems.
_READ_ELSEWHERE = ("SECRET_KEY_FILE", "TOKEN", "TEST_PEERS")
# Kubernetes sets these in every container when a service has the same name as this program.
_OF_A_SERVICE = re.compile(rf"{PREFIX}(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_\w+)")
# These two have names that other programs read, too, so they carry no prefix.
_WITHOUT_PREFIX = ("DATABASE_URL", "REDIS_URL")
# Matches what SQLAlchemy takes for user and password: a password may contain more than the URL standard allows.
CREDENTIALS = re.compile(r"(?<=://)[^:/]*(?::[^@]*)?@")


class ConfigError(ValueError):
    """A setting is missing or malformed; the message starts with its name."""


class DataFolderError(ConfigError):
    """What is in the data folder cannot be used, though every setting can be read; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the environment decides. Numbers that change ranking live in `retrieval.policy` instead."""

    home: Path
    database_url: str | None
    redis_url: str | None
    secret_key: bytes
    searches_per_minute: int
    page_searches_per_minute: int
    embedding_model: str
    llamacpp_url: str | None
    llamacpp_model: str
    provider_addresses: str
    llm_url: str | None
    llm_model: str
    llm_api_key: str | None = field(repr=False)
    llm_timeout: float
    enrichment: bool
    soft_cap: int
    token_budget: int
    max_results: int
    min_score: float | None
    web_workers: int
    trusted_proxies: int
    log_level: str


def load(env: Mapping[str, str] | None = None) -> Settings:
    """Read the settings; create the data folder and its secret key when they do not exist yet.

    Raises `ConfigError` naming the first setting that cannot be used.
    """
    env = os.environ if env is None else env
    home = Path(env.get("COMMONPLACE_HOME") or ".data").expanduser().resolve()
    return Settings(
        home=_folder(home),
        database_url=_url(env, "DATABASE_URL", {"postgresql", "postgres"}),
        redis_url=redis_url(env),
        secret_key=_secret(env, home),
        searches_per_minute=_number(env, "COMMONPLACE_SEARCHES_PER_MINUTE", 10, int, 0, 1_000_000),
        page_searches_per_minute=_number(env, "COMMONPLACE_PAGE_SEARCHES_PER_MINUTE", 240, int, 0, 1_000_000),
        embedding_model=env.get("COMMONPLACE_EMBEDDING_MODEL") or "bundled",
        llamacpp_url=_url(env, "COMMONPLACE_LLAMACPP_URL", {"http", "https"}),
        llamacpp_model=env.get("COMMONPLACE_LLAMACPP_MODEL") or "default",
        provider_addresses=_choice(env, "COMMONPLACE_PROVIDER_ADDRESSES", "ANY", {"ANY", "PUBLIC"}),
        llm_url=_url(env, "COMMONPLACE_LLM_URL", {"http", "https"}),
        llm_model=env.get("COMMONPLACE_LLM_MODEL") or "default",
        llm_api_key=env.get("COMMONPLACE_LLM_API_KEY", "").strip() or None,
        llm_timeout=_number(env, "COMMONPLACE_LLM_TIMEOUT", 20.0, float, 1, 600),
        enrichment=_choice(env, "COMMONPLACE_ENRICHMENT", "ON", {"ON", "OFF"}) == "ON",
        soft_cap=_number(env, "COMMONPLACE_SOFT_CAP", 200, int, 1, 10_000_000),
        token_budget=_number(env, "COMMONPLACE_TOKEN_BUDGET", 1000, int, 1, 100_000),
        max_results=_number(env, "COMMONPLACE_MAX_RESULTS", 10, int, 1, 50),
        min_score=_number(env, "COMMONPLACE_MIN_SCORE", None, float, 0, 1),
        web_workers=_number(env, "COMMONPLACE_WEB_WORKERS", 2, int, 1, 64),
        trusted_proxies=_number(env, "COMMONPLACE_TRUSTED_PROXIES", 0, int, 0, 10),
        log_level=_choice(env, "COMMONPLACE_LOG_LEVEL", "INFO", {"DEBUG", "INFO", "WARNING", "ERROR"}),
    )


def names() -> frozenset[str]:
    """Return the names of all environment variables of ours, whatever reads them."""
    ours = (*(each.name.upper() for each in fields(Settings)), *_READ_ELSEWHERE)
    return frozenset(each if each in _WITHOUT_PREFIX else f"{PREFIX}{each}" for each in ours)


def unread(env: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """Return the environment variables that begin with our prefix and that nothing reads.

    Each is given with the name of a setting that may have been meant.
    """
    known, given = names(), os.environ if env is None else env
    by_end = {each.removeprefix(PREFIX): each for each in sorted(known)}
    found: dict[str, str | None] = {}
    for name in sorted(given):
        told = _OF_A_SERVICE.fullmatch(name) or given[name].startswith(("tcp://", "udp://"))
        if name.upper().startswith(PREFIX) and name not in known and not told:
            near = get_close_matches(name.upper().removeprefix(PREFIX), by_end, n=1)
            found[name] = by_end[near[0]] if near else None
    return found


def redis_url(env: Mapping[str, str] | None = None) -> str | None:
    """Read this setting alone. Raises `ConfigError` when it cannot be used."""
    return _url(os.environ if env is None else env, "REDIS_URL", {"redis", "rediss"})


def _folder(home: Path) -> Path:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"COMMONPLACE_HOME: cannot make the data folder {home}: {error.strerror}") from error
    return home


def _number(env: Mapping[str, str], name: str, default: D, kind: Callable[[str], N], low: float, high: float) -> N | D:
    raw = env.get(name, "").strip()
    if not raw:
        return default
    try:
        value = kind(raw)
    except ValueError:
        raise ConfigError(f"{name} must be a number, not {raw!r}") from None
    if not low <= value <= high:
        raise ConfigError(f"{name} must be between {low:,} and {high:,}, not {raw}")
    return value


def _choice(env: Mapping[str, str], name: str, default: str, allowed: set[str]) -> str:
    value = env.get(name, "").strip().upper() or default
    if value not in allowed:
        raise ConfigError(f"{name} must be one of {', '.join(sorted(allowed))}, not {value!r}")
    return value


def _url(env: Mapping[str, str], name: str, schemes: set[str]) -> str | None:
    value = env.get(name, "").strip()
    if not value:
        return None
    scheme, _, rest = value.partition("://")
    if scheme.lower() not in schemes:
        raise ConfigError(f"{name} must be a URL that starts with {' or '.join(sorted(schemes))}://")
    value = f"{scheme.lower()}://{rest}"
    address = CREDENTIALS.sub("", value, count=1) if "postgresql" in schemes else value
    try:
        parts = urlsplit(address)
        host, _port = parts.hostname, parts.port
    except ValueError:
        # Without the reason, which may repeat a part of the password.
        advice = "in a password, special characters must be escaped, such as / by %2F"
        raise ConfigError(f"{name} has a host or a port that cannot be read; {advice}") from None
    if parts.netloc.endswith(":"):
        raise ConfigError(f"{name} has no port behind its colon")
    if "postgresql" in schemes and not parts.path.strip("/"):
        # Not left to default: the role that the program connects with is named after the database.
        raise ConfigError(f"{name} names no database: its name follows the host, as in postgresql://localhost/notes")
    # A database or Redis without a host is one on this machine.
    if host is None and "http" in schemes:
        raise ConfigError(f"{name} has no host")
    return value


def _secret(env: Mapping[str, str], home: Path) -> bytes:
    """COMMONPLACE_SECRET_KEY, or the file that COMMONPLACE_SECRET_KEY_FILE names, or one kept in the folder."""
    if value := env.get("COMMONPLACE_SECRET_KEY", "").strip():
        return _long_enough(value.encode(), "COMMONPLACE_SECRET_KEY")
    if named := env.get("COMMONPLACE_SECRET_KEY_FILE", "").strip():
        try:
            return _long_enough(Path(named).read_bytes().strip(), "COMMONPLACE_SECRET_KEY_FILE")
        except OSError as error:
            raise ConfigError(f"COMMONPLACE_SECRET_KEY_FILE: cannot read {named}: {error.strerror}") from error
    return _kept_secret(home / "secret.key")


def _long_enough(value: bytes, name: str) -> bytes:
    if len(value) < SHORTEST_SECRET:
        raise ConfigError(f"{name} must be at least {SHORTEST_SECRET} characters long")
    return value


def _kept_secret(path: Path) -> bytes:
    try:
        _keep_secret(path)
    except OSError as error:
        advice = "make room on its disk" if error.errno == errno.ENOSPC else "change its owner or COMMONPLACE_HOME"
        raise DataFolderError(f"{path.parent} cannot be written to ({error.strerror}): {advice}") from error
    # Never replaced by a new one: what it has encrypted could not be read any more.
    advice = "put back the file that was there, or set COMMONPLACE_SECRET_KEY"
    try:
        kept = path.read_bytes().strip()
    except OSError as error:
        raise DataFolderError(f"the secret key {path} cannot be read ({error.strerror}): {advice}") from error
    if len(kept) < SHORTEST_SECRET:
        raise DataFolderError(f"the secret key {path} has fewer than {SHORTEST_SECRET} characters: {advice}")
    return kept


def _keep_secret(path: Path) -> None:
    """Write a whole file under another name first, so that two starting processes agree on one key.

    It is on the disk before it has its own: no later start replaces an empty one that a power cut left. Nor is its name
    lost by one, once anything is kept under it.
    """
    if path.exists():
        return
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        draft.touch(mode=0o600)
        with draft.open("wb") as file:
            file.write(secrets.token_hex(32).encode())
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
        _sync_names(path.parent)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)


def _sync_names(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot sync a folder; that is no failure.
        if error.errno not in {errno.EBADF, errno.EINVAL}:
            raise
    finally:
        os.close(descriptor)
