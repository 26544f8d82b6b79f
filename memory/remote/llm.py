"""A language model behind an OpenAI-compatible chat endpoint. Never needed: whoever asks it can do without."""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any, TypeVar

import httpx

from memory.remote.breaker import Breaker
from memory.remote.credentials import without_credentials
from memory.remote.deadlines import by, client_for
from memory.remote.whole_answers import TooLargeError, TooSlowError, pause_asked, read_whole

TIMEOUT = 20.0
# After a failure an endpoint is not asked for so long: every request would wait for it in turn.
PAUSE = 30.0
LARGEST_ANSWER = 1 << 20  # bytes
# One useless answer may be due to its text; so many in a row are due to the model.
_MOST_USELESS = 3
_PATH = "/chat/completions"
_T = TypeVar("_T")
_RETRIABLE = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
# By these an endpoint tells that a text is too long for its model, or that a filter minds its words.
_OF_TEXT = {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}
_FAILURES = range(400, 600)
# Some servers hand out what a reasoning model says to itself, before what it says. It may be all there is, where the
# model thought for as long as it was given; and begin without its mark, where that ends what the model was asked.
_THOUGHTS = re.compile(r"\A(?:\s*<think>.*?(?:</think>|\Z)|(?:(?!<think>).)*?</think>)", re.DOTALL)

# How OpenAI's models that think, and Anthropic's newer ones, say what of a request they do not take.
_REFUSED = re.compile(
    r"Unsupported (?:parameter|value): \W{1,3}(max_tokens|temperature)\b|`(temperature)` is deprecated"
)
_LARGEST_REFUSAL = 1 << 16  # bytes
# Tokens that such a model may think for: what it thinks counts as said by it.
_ROOM_TO_THINK = 4000
# An answer may end here, and not within a number or a name, where a model had to stop before it was done.
_WHOLE = re.compile(r".*(?:[.!?][\"')\u00bb\u2019\u201d]*(?=\s)|[\u3002\uff01\uff1f]|\n)", re.DOTALL)
_STOPPED = {"length", "content_filter"}


class ChatModelError(Exception):
    """The model gave no usable answer; `away` says that it could not, so that nobody need ask again at once.

    `pause` is for how many seconds it asked to be left alone. Never carries texts, addresses or keys.
    """

    def __init__(self, message: str, *, away: bool = False, pause: float = 0.0) -> None:
        super().__init__(message)
        self.away = away
        self.pause = pause


class UselessAnswerError(ChatModelError):
    """The model answered, and not what it was asked for: or nothing, as it thought for as long as it was given."""


class UnfinishedAnswerError(ChatModelError):
    """The answer did not come to its end in the time or the size allowed. For less text it may."""

    def __init__(self, message: str) -> None:
        super().__init__(message, away=True)


class StillAwayError(ChatModelError):
    """The model was not asked, as it failed a moment ago, which was told then."""


class RefusedTextError(ChatModelError):
    """The endpoint refused what it was sent, and may take another text, or a part of it."""


@dataclass(frozen=True)
class ChatModel:
    """One model at one endpoint; safe to share between threads.

    `url` is an address that ends with `/chat/completions`, or what stands before that, or before `/v1`; `timeout` is
    in seconds, for a whole answer. `heard` is told of each time it was asked, with what kept it from answering, if
    anything did: of useless answers from the third in a row on.
    """

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    heard: Callable[[ChatModel, ChatModelError | None], None] | None = field(default=None, repr=False, compare=False)

    def complete(self, instruction: str, text: str, *, max_tokens: int) -> str:
        """Return the model's answer to `text` under `instruction`, of at most about `max_tokens` of its tokens.

        Credentials in the text are not sent. Of a model that had to stop within a sentence, what it said before that.
        Raises `ChatModelError` for whatever comes between, at once while the endpoint is known to fail.
        """
        return self._asked(instruction, text, str, max_tokens, is_prose=True)

    def ask(self, instruction: str, text: str, read: Callable[[str], _T], *, max_tokens: int) -> _T:
        """Return what `read` makes of the answer that `complete` would return, all of it.

        Raises `ChatModelError` as that does, and where `read` raises `ValueError`: the answer is of no use then.
        """
        return self._asked(instruction, text, read, max_tokens, is_prose=False)

    def _asked(self, instruction: str, text: str, read: Callable[[str], _T], max_tokens: int, *, is_prose: bool) -> _T:
        if not self._breaker.allows():
            raise StillAwayError("the model endpoint failed a moment ago", away=True)
        try:
            answer = _read(self._answer(instruction, text, max_tokens, is_prose=is_prose), read)
        except ChatModelError as error:
            if error.away:
                self._breaker.failed(error.pause)
            else:
                self._breaker.worked()
            self._tell(error if self._fails_by(error) else None)
            raise
        self._breaker.worked()
        self._useless.clear()
        self._tell(None)
        return answer

    def _fails_by(self, error: ChatModelError) -> bool:
        if not isinstance(error, UselessAnswerError):
            return True
        self._useless.append(error)
        return self._useless.maxlen == len(self._useless)

    def _tell(self, error: ChatModelError | None) -> None:
        if self.heard is not None:
            self.heard(self, error)

    def _answer(self, instruction: str, text: str, max_tokens: int, *, is_prose: bool) -> str:
        asked = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": instruction},
                {"role": "user", "content": without_credentials(text)},
            ],
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": False,
        }
        try:
            told = json.loads(self._post(asked))
            if (code := _error_code(told)) is not None:
                raise _refusal(code, "with error")
            choice = told["choices"][0]
            answer = _text(choice["message"]["content"])
            has_stopped = choice.get("finish_reason") in _STOPPED
        except httpx.ReadTimeout as error:
            raise UnfinishedAnswerError(f"the model endpoint did not answer ({type(error).__name__})") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # The kind alone: the error's own words may quote a header or an address.
            raise ChatModelError(f"the model endpoint did not answer ({type(error).__name__})", away=True) from None
        except (AttributeError, KeyError, IndexError, TypeError, ValueError, RecursionError):
            raise ChatModelError("the model endpoint answered in an unknown shape") from None
        said = _THOUGHTS.sub("", answer).replace("\x00", "").strip()
        if is_prose and has_stopped and (whole := _WHOLE.match(said)):
            said = whole[0].rstrip()
        if not said:
            raise UselessAnswerError("the model endpoint answered nothing")
        return said.encode("utf-8", "replace").decode("utf-8")

    def _post(self, asked: dict[str, Any]) -> bytes:
        """Return the body of a successful answer, read to its end within the time and size allowed."""
        until = time.monotonic() + self.timeout
        with by(until):
            while True:
                worded = self._worded(asked)
                with self._client.stream("POST", self._address, json=worded) as response:
                    if response.is_success:
                        return _whole(response, until)
                    if not self._learns(response, until, worded):
                        raise _refusal(response.status_code, "HTTP", pause_asked(response))

    def _worded(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return a request without what the model is known to refuse in it."""
        worded = {name: value for name, value in asked.items() if name not in self._refused}
        if "max_tokens" in self._refused:
            worded["max_completion_tokens"] = asked["max_tokens"] + _ROOM_TO_THINK
        return worded

    def _learns(self, response: httpx.Response, until: float, worded: Collection[str]) -> bool:
        """Tell whether a refusal names something that was in the request, which is left out from now on."""
        if response.status_code != HTTPStatus.BAD_REQUEST:
            return False
        try:
            told = read_whole(response, most=_LARGEST_REFUSAL, until=until)
        except (httpx.HTTPError, TooLargeError, TooSlowError):
            return False
        named = {name for found in _REFUSED.findall(told.decode("utf-8", "replace")) for name in found if name}
        self._refused.update(named)
        return not named.isdisjoint(worded)

    @property
    def told(self) -> str:
        """Return which model it is, and on which host, for those whose texts are sent to it.

        >>> ChatModel("https://key:word@models.example.org/v1?key=1", "small").told
        'small at models.example.org'
        """
        return f"{self.model} at {httpx.URL(self.url).host}"

    @property
    def _address(self) -> str:
        root, mark, query = self.url.partition("?")
        root = root.rstrip("/")
        if not root.endswith(_PATH):
            root = f"{root.removesuffix('/v1')}/v1{_PATH}"
        return f"{root}{mark}{query}"

    @cached_property
    def _client(self) -> httpx.Client:
        key = (self.api_key or "").strip()
        if not (key.isascii() and key.isprintable()):
            # The HTTP library would quote such a key in its own error.
            raise ChatModelError("the API key of the model has characters that a header cannot carry")
        authorization = {"Authorization": f"Bearer {key}"} if key else {}
        return client_for(authorization, timeout=self.timeout)

    @cached_property
    def _breaker(self) -> Breaker:
        return Breaker(PAUSE)

    @cached_property
    def _useless(self) -> deque[ChatModelError]:
        """The last answers, as long as they were of no use."""
        return deque(maxlen=_MOST_USELESS)

    @cached_property
    def _refused(self) -> set[str]:
        """What of a request the model has said that it does not take."""
        return set()


def _whole(response: httpx.Response, until: float) -> bytes:
    try:
        return read_whole(response, most=LARGEST_ANSWER, until=until)
    except TooLargeError:
        raise UnfinishedAnswerError("the model endpoint answered too much") from None
    except TooSlowError:
        raise UnfinishedAnswerError("the model endpoint did not finish in time") from None


def _refusal(status: int, told: str, pause: float = 0.0) -> ChatModelError:
    away = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _RETRIABLE
    kind = RefusedTextError if status in _OF_TEXT else ChatModelError
    return kind(f"the model endpoint answered {told} {status}", away=away, pause=pause)


def _error_code(told: Any) -> int | None:
    """Return what stands for a status in an answer that is none: what passes questions on may call that a success."""
    error = told.get("error") if isinstance(told, dict) and "choices" not in told else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and code in _FAILURES else None


def _text(content: Any) -> str:
    """Return what a message says, which comes in parts from some servers: what the model thought is one of its own.

    Nothing for a message that says nothing.
    """
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _read(answer: str, read: Callable[[str], _T]) -> _T:
    try:
        return read(answer)
    except ValueError:
        # Its own words would quote the answer, and that the text.
        raise UselessAnswerError("the model endpoint answered in another shape than asked for") from None
