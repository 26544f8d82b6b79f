"""Embeddings by an HTTP provider: OpenAI-compatible, llama.cpp, Ollama or a custom endpoint."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from memory.embedding.base import EmbeddingError, KeyNotSendableError, encodable, unit
from memory.portions import portions
from memory.remote.credentials import without_credentials
from memory.remote.deadlines import by, client_for
from memory.remote.public_addresses import NotPublicError, addresses_of, is_public, transport_to
from memory.remote.whole_answers import TooLargeError, TooSlowError, pause_asked, read_whole


@dataclass(frozen=True, slots=True)
class _Wire:
    """Where a provider listens, relative to the root of its endpoint; None means the endpoint as given."""

    embed: str | None
    health: str | None


_WIRES = {
    "openai": _Wire("/v1/embeddings", "/v1/models"),
    "llamacpp": _Wire("/v1/embeddings", "/health"),
    "ollama": _Wire("/api/embed", "/api/version"),
    "custom_http": _Wire(None, None),
}
PROVIDERS = tuple(_WIRES)

ANSWER_SECONDS = 15.0
_BATCH = 64
# Numbers: the database keeps no longer vector.
MOST_DIMENSIONS = 16_000
# Bytes for each text; a vector of 16,000 numbers, each in all its digits, is 360,000.
_LARGEST_ANSWER = 1 << 20
# What an answer may be made of for each text: parsed, the smallest values take twenty times the bytes they are sent in.
_MOST_VALUES = 2 * MOST_DIMENSIONS
# The endings with which people paste an endpoint; the wire table adds the right one back.
_ENDINGS = ("/", "/embeddings", "/api/embed", "/v1", "/")
_RETRIABLE = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
# What is said to everybody, whatever they ask: a small request could be let through where a large one is not.
_AWAY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
# What a refusal comes down to, for whoever set the endpoint.
_ELSEWHERE = "it is at another address by now, often the same with https"
_MEANING: dict[int, str] = {
    HTTPStatus.MOVED_PERMANENTLY: _ELSEWHERE,
    HTTPStatus.FOUND: _ELSEWHERE,
    HTTPStatus.TEMPORARY_REDIRECT: _ELSEWHERE,
    HTTPStatus.PERMANENT_REDIRECT: _ELSEWHERE,
    HTTPStatus.PAYMENT_REQUIRED: "it wants to be paid",
    HTTPStatus.UNAUTHORIZED: "it wants another key",
    HTTPStatus.FORBIDDEN: "the key may not do this",
    HTTPStatus.NOT_FOUND: "it knows no such model or address",
    HTTPStatus.TOO_MANY_REQUESTS: "it was asked too often",
}


class HttpEmbedder:
    """Posts texts, at most 64 a request, to an embedding endpoint; safe to share between threads.

    `dimensions` None accepts any, as long as all rows agree. `timeout` in seconds applies to all there is before an
    answer begins, and to the answer from there to its end. With `public_only` an endpoint with an address that only
    this machine or its network reaches is not asked. Raises a permanent `EmbeddingError` for an unknown provider or a
    URL that is not HTTP, `KeyNotSendableError` for a key that a header cannot carry.
    """

    def __init__(
        self,
        provider: str,
        endpoint_url: str,
        model: str,
        api_key: str | None,
        dimensions: int | None,
        timeout: float = ANSWER_SECONDS,
        *,
        public_only: bool = False,
    ) -> None:
        if provider not in _WIRES:
            raise EmbeddingError(f"unknown embedding provider {provider!r}", permanent=True)
        self.provider = provider
        self.model = model
        self._dimensions = dimensions
        self._embed_url = _address(endpoint_url, _WIRES[provider].embed)
        self._health_url = _address(endpoint_url, _WIRES[provider].health)
        self._timeout = timeout
        self._public_only = public_only
        transport = transport_to(self._embed_url) if public_only else None
        self._client = client_for(_headers(api_key), timeout=timeout, transport=transport)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text: shape (len(texts), dim); (0, dimensions or 0) without texts.

        Credentials in them are not sent. Raises `EmbeddingError`: transient for time-outs, connection errors, 408, 429,
        5xx and enormous answers, else permanent; away where nobody listens, for 429 and 503, and for such answers.
        """
        sent = [without_credentials(text) for text in encodable(texts)]
        parts = [self._batch(some) for some in portions(sent, _BATCH)]
        if not parts:
            return np.empty((0, self._dimensions or 0), dtype=np.float32)
        expected = self._dimensions or parts[0].shape[1]
        if wrong := next((part.shape[1] for part in parts if part.shape[1] != expected), None):
            raise self._error(f"returned {wrong} dimensions instead of {expected}", permanent=True)
        return unit(np.concatenate(parts))

    def check_address(self) -> None:
        """Raise a permanent `EmbeddingError` for an endpoint that is not asked, wherever it is: looks its name up."""
        if not self._public_only:
            return
        try:
            addresses_of(httpx.URL(self._embed_url).raw_host.decode("ascii"), is_public)
        except NotPublicError as error:
            raise self._error(str(error), permanent=True) from None
        except (httpx.ConnectError, UnicodeError):
            return  # A name that stands for nothing now may do later.

    def healthy(self, timeout: float = 1.0) -> bool:
        """Say whether the provider answers within about `timeout` seconds.

        A custom endpoint has no health address: there, any answer but a server error will do.
        """
        try:
            # The body says no more, and may come slowly or without an end.
            with (
                by(time.monotonic() + timeout),
                self._client.stream("GET", self._health_url, timeout=timeout) as response,
            ):
                status = response.status_code
        except (httpx.HTTPError, UnicodeError):
            return False
        return status < 500 if self.provider == "custom_http" else 200 <= status < 300

    def _batch(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            rows = _matrix(self._post({"model": self.model, "input": texts}))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            raise self._error("returned vectors in an unknown shape", permanent=True) from None
        if len(rows) != len(texts):
            raise self._error(f"returned {len(rows)} vectors for {len(texts)} texts", permanent=True)
        if rows.shape[1] > MOST_DIMENSIONS:
            longest = f"returned {rows.shape[1]} dimensions, more than the {MOST_DIMENSIONS} that can be kept"
            raise self._error(longest, permanent=True)
        return rows

    def _post(self, body: dict[str, Any]) -> Any:
        # Messages name the failure's kind only: an exception's own text may quote a header or a URL.
        try:
            with ExitStack() as asked:
                with by(time.monotonic() + self._timeout):
                    response = asked.enter_context(self._client.stream("POST", self._embed_url, json=body))
                status, pause = response.status_code, pause_asked(response)
                answer = self._answer(response, len(body["input"]))
        except NotPublicError as error:
            raise self._error(str(error), permanent=True) from None
        except (httpx.HTTPError, UnicodeError) as error:
            # The latter of a host that no name server can be asked for: "..".
            away = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            raise self._error(f"did not answer ({type(error).__name__})", permanent=False, away=away) from None
        except TooSlowError:
            raise self._error("did not finish in time", permanent=False) from None
        except TooLargeError:
            # No text makes a vector that long: what answers is something else.
            raise self._error("answered too much", permanent=False, away=True) from None
        if answer is None:
            transient = status >= 500 or status in _RETRIABLE
            raise self._error(_refusal(status), permanent=not transient, away=status in _AWAY, pause=pause)
        if sum(map(answer.count, (b",", b"[", b"{"))) > _MOST_VALUES * len(body["input"]):
            raise self._error("answered too much", permanent=True)
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            raise self._error("answered something that is not JSON", permanent=True) from None

    def _answer(self, response: httpx.Response, texts: int) -> bytes | None:
        """Return the body of a success, None for anything else. It may take long to begin, and not to end."""
        if not response.is_success:
            return None
        until = time.monotonic() + self._timeout
        with by(until):
            return read_whole(response, most=_LARGEST_ANSWER * texts, until=until)

    def _error(self, message: str, *, permanent: bool, away: bool = False, pause: float = 0.0) -> EmbeddingError:
        whole = f"the {self.provider} embedding provider {message}"
        return EmbeddingError(whole, permanent=permanent, away=away, pause=pause)


def _refusal(status: int) -> str:
    meaning = _MEANING.get(status)
    return f"answered HTTP {status}: {meaning}" if meaning else f"answered HTTP {status}"


def _address(endpoint_url: str, path: str | None) -> str:
    try:
        usable = httpx.URL(endpoint_url).scheme in {"http", "https"} and bool(httpx.URL(endpoint_url).host)
    except (httpx.InvalidURL, UnicodeError):
        # The latter of a host that only looks like one of an international name: "xn--".
        usable = False
    if not usable:
        raise EmbeddingError("the embedding endpoint is not an http or https URL", permanent=True)
    if path is None:
        return endpoint_url
    for ending in _ENDINGS:
        endpoint_url = endpoint_url.removesuffix(ending)
    return endpoint_url + path


def _headers(api_key: str | None) -> dict[str, str]:
    key = (api_key or "").strip()
    # The HTTP library would quote such a key in its own error.
    if not (key.isascii() and key.isprintable()):
        raise KeyNotSendableError
    return {"Authorization": f"Bearer {key}"} if key else {}


def _matrix(payload: Any) -> NDArray[np.float32]:
    """Return the vectors of an answer as rows; raises `ValueError` and its like for anything else."""
    # float64 first: numpy refuses ragged rows and text there, and `unit` refuses what overflows here.
    wide = np.asarray(_vectors(payload), dtype=np.float64)
    if wide.ndim != 2 or wide.shape[1] == 0:
        raise ValueError("not a table of numbers")
    with np.errstate(over="ignore"):
        return wide.astype(np.float32)


def _vectors(payload: Any) -> list[Any]:
    """Return the vectors of an {"embeddings": [...]} or {"data": [{"index", "embedding"}]} answer, in order.

    Items without an index count by position.
    """
    if "embeddings" in payload:
        return list(payload["embeddings"])
    items = {item.get("index", position): item["embedding"] for position, item in enumerate(payload["data"])}
    if sorted(items) != list(range(len(payload["data"]))):
        raise ValueError("indexes are not 0 to n-1")
    return [items[index] for index in range(len(items))]
