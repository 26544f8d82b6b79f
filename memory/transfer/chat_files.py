"""What other programs export of an account's chats, as conversations: ChatGPT and Claude, whose files say which it is.

Of a chat that was asked again or corrected in the middle only the course that stood at its end is taken, as their own
pages show it. What tools were told and gave, thoughts, instructions and pictures are left out: they are much, and
nobody said them.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import IO, Any

from memory.conversations.conversations import LONGEST_NAME, LONGEST_TITLE
from memory.errors import InvalidError
from memory.messages.drafts import MAX_CONTENT_BYTES, MessageDraft

# ChatGPT exports many chats in numbered files, each a list as the one file of Claude is.
_CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json", re.IGNORECASE)
_NO_SPACE = re.compile(r"[^ \t\r\n]")
# Between these ChatGPT writes what its own pages alone can show: where something was found, or what a name stands for.
_MARKED = re.compile("\ue200[^\ue200\ue201]*\ue201")
# Ways of packing of which no more is unpacked than is read.
_PACKED = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
# Bytes for each value of a file that a form may have: those of real exports take more.
_LEAST_BYTES = 16
# What Claude writes into the text of a message for what a tool was told or gave.
_UNSHOWN = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```")
_ROLES = {"user": "user", "human": "user", "assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class Chat:
    """What was said in a chat, in its order; nothing where nobody said anything, or it was not to be remembered.

    `id` is what the other program calls it, and `client_id` of a message what that calls the message.
    """

    id: str
    title: str
    created_at: datetime | None
    messages: tuple[MessageDraft, ...]

    @property
    def ended_at(self) -> datetime | None:
        """Return when the last was said, None where nobody knows."""
        return self.messages[-1].created_at if self.messages else self.created_at


def chats_of(path: Path, now: datetime) -> list[Chat]:
    """Return the chats of a file, of an archive as it was exported, or of a folder where one was unpacked.

    Raises `InvalidError` that names the file, and the number of what is no chat.
    """
    if path.is_file():
        with path.open("rb") as file:
            return chats_in(file, path.name, now)
    found = [each for each in sorted(path.rglob("*.json")) if _CONVERSATIONS.fullmatch(each.name)]
    if not found:
        raise _wrong(path.name, "has no conversations.json, in which ChatGPT and Claude export chats")
    return [chat for each in found for chat in chats_of(each, now)]


def chats_in(file: IO[bytes], name: str, now: datetime, *, most: int | None = None) -> list[Chat]:
    """Return the chats of a JSON file, or of an archive that has some, of at most `most` bytes when unpacked.

    Nor may one of them have a value for each few bytes of these, as each takes a hundred in memory. Raises
    `InvalidError`.
    """
    values = most // _LEAST_BYTES if most is not None else None
    if PurePath(name).suffix.lower() != ".zip":
        return _read(file.read(), name, now, values)
    try:
        with zipfile.ZipFile(file) as archive:
            inside = [each for each in archive.infolist() if _CONVERSATIONS.fullmatch(PurePath(each.filename).name)]
            if not inside:
                raise _wrong(name, "has no conversations.json, in which ChatGPT and Claude export chats")
            if most is not None and sum(each.file_size for each in inside) > most:
                raise _wrong(name, f"has more than {most // 2**20} MB of chats")
            if any(each.compress_type not in _PACKED for each in inside):
                raise _wrong(name, "is packed in another way than ChatGPT and Claude pack archives")
            return [
                chat
                for each in sorted(inside, key=lambda member: member.filename)
                for chat in _read(_unpacked(archive, each), f"{name}, {each.filename}", now, values)
            ]
    except (zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, EOFError, OSError, ValueError):
        raise _wrong(name, "is no archive, is cut off, or is locked with a password") from None


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return as much of a file as the archive says there is: it may say so and have more, which would fill memory."""
    with archive.open(member) as file:
        return file.read(member.file_size)


def _read(content: bytes, name: str, now: datetime, values: int | None) -> list[Chat]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _wrong(name, "is not UTF-8") from None
    if values is not None and text.count(",") > values:
        raise _wrong(name, "has too many values for so few bytes: `commonplace import chats` takes it")
    try:
        return [_chat(given, f"{name}, number {at}", now) for at, given in enumerate(_elements(text), 1)]
    except (ValueError, RecursionError):
        # Python reads no number of thousands of digits, and says so by an error of its own.
        raise _wrong(name, "is cut off, or no JSON") from None


def _elements(text: str) -> Iterator[Any]:
    """Give the elements of a list one by one, so that not all of them are in memory; or the one that is no list."""
    decoder = json.JSONDecoder()

    def after_space(at: int) -> int:
        found = _NO_SPACE.search(text, at)
        return found.start() if found else len(text)

    at = after_space(0)
    if text[at : at + 1] != "[":
        yield json.loads(text)
        return
    at = after_space(at + 1)
    if text[at : at + 1] != "]":
        while True:
            element, at = decoder.raw_decode(text, at)
            yield element
            at = after_space(at)
            if text[at : at + 1] != ",":
                break
            at = after_space(at + 1)
    if text[at : at + 1] != "]" or after_space(at + 1) != len(text):
        raise json.JSONDecodeError("the list does not end", text, at)


def _chat(given: Any, where: str, now: datetime) -> Chat:
    if isinstance(given, Mapping) and isinstance(given.get("mapping"), Mapping):
        return _of_chatgpt(given, where, now)
    if isinstance(given, Mapping) and isinstance(given.get("chat_messages"), list):
        return _of_claude(given, where, now)
    # Of some chats ChatGPT has kept no more than that there was one.
    if isinstance(given, Mapping) and given.get("mapping") is None and _is_name(given.get("conversation_id")):
        return Chat(given["conversation_id"], "", None, ())
    raise _wrong(where, "is no chat of ChatGPT, which has a mapping, and none of Claude, which has chat_messages")


def _of_chatgpt(given: Mapping[str, Any], where: str, now: datetime) -> Chat:
    began = _moment(given.get("create_time"), now)
    nodes = {name: node for name, node in given["mapping"].items() if isinstance(node, Mapping)}
    said = []
    for name in [] if given.get("is_do_not_remember") is True else _course(nodes, _text(given.get("current_node"))):
        message = nodes[name].get("message")
        if isinstance(message, Mapping) and (role := _speaker_at_chatgpt(message)):
            model = _mapping(message.get("metadata")).get("model_slug") if role == "assistant" else None
            said.append((name, role, _text_at_chatgpt(message), _moment(message.get("create_time"), now), model))
    return _put_together(given.get("conversation_id") or given.get("id"), given.get("title"), began, said, where)


def _course(nodes: dict[str, Mapping[str, Any]], last: str | None) -> list[str]:
    """Return the names of the nodes from the first one to the last, each of which names the one before it."""
    if last not in nodes:
        # Of an older export, which does not say where it ended: the one that was written last.
        followed = {_text(node.get("parent")) for node in nodes.values()}
        ends = [name for name in reversed(nodes) if name not in followed]
        last = max(ends, key=lambda name: _seconds(nodes[name]), default=None)
    course: dict[str, None] = {}
    while last is not None and last in nodes and last not in course:
        course[last] = None
        last = _text(nodes[last].get("parent"))
    return list(reversed(course))


def _seconds(node: Mapping[str, Any]) -> float:
    written = _mapping(node.get("message")).get("create_time")
    return written if isinstance(written, int | float) else 0.0


def _speaker_at_chatgpt(message: Mapping[str, Any]) -> str | None:
    """Return who says a message to the other one; None for what is said to a tool, by one, or is not shown."""
    if message.get("recipient") not in (None, "all"):
        return None
    if _mapping(message.get("metadata")).get("is_visually_hidden_from_conversation"):
        return None
    return _ROLES.get(str(_mapping(message.get("author")).get("role")))


def _text_at_chatgpt(message: Mapping[str, Any]) -> str:
    content = _mapping(message.get("content"))
    parts = content.get("parts")
    if content.get("content_type") not in ("text", "multimodal_text") or not isinstance(parts, list):
        return ""
    # What was spoken is an object with its text among pictures, which have none.
    texts = [part if isinstance(part, str) else _mapping(part).get("text") for part in parts]
    text = "\n".join(each for each in texts if isinstance(each, str) and each.strip())
    references = _mapping(message.get("metadata")).get("content_references")
    return _as_shown(text, references if isinstance(references, list) and "\ue200" in text else ())


def _as_shown(text: str, references: Sequence[Any]) -> str:
    """Return a text with what references say is shown where it is marked, and nothing where none says so."""
    known = {
        each["matched_text"]: _MARKED.sub("", each["alt"])
        for each in references
        if isinstance(each, Mapping) and isinstance(each.get("matched_text"), str) and isinstance(each.get("alt"), str)
    }
    # No more of it than a message holds: a few bytes may mark it a million times.
    room = MAX_CONTENT_BYTES

    def shown(mark: re.Match[str]) -> str:
        nonlocal room
        alt = known.get(mark[0], "") if room > 0 else ""
        room -= len(alt)
        return alt

    return _MARKED.sub(shown, text)


def _of_claude(given: Mapping[str, Any], where: str, now: datetime) -> Chat:
    messages = {
        str(message.get("uuid") or at): message
        for at, message in enumerate(given["chat_messages"])
        if isinstance(message, Mapping)
    }
    names = list(messages)
    parents: dict[str, Mapping[str, Any]] = {
        name: {"parent": message.get("parent_message_uuid")} for name, message in messages.items()
    }
    if any(_text(each["parent"]) in messages for each in parents.values()):
        last = _text(given.get("current_leaf_message_uuid"))
        names = _course(parents, last if last in messages else names[-1])
    said = [
        (name, role, _text_at_claude(messages[name]), _moment(messages[name].get("created_at"), now), None)
        for name in names
        if (role := _ROLES.get(str(messages[name].get("sender"))))
    ]
    return _put_together(given.get("uuid"), given.get("name"), _moment(given.get("created_at"), now), said, where)


def _text_at_claude(message: Mapping[str, Any]) -> str:
    """Return what is said in a message; where that is nothing, what was pasted into it, which it takes for a file."""
    blocks = message.get("content")
    texts = [
        block.get("text")
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, Mapping) and block.get("type") == "text"
    ]
    said = _joined(texts) or _joined([_UNSHOWN.sub("", _text(message.get("text")) or "")])
    pasted = message.get("attachments")
    if said or not isinstance(pasted, list):
        return said
    return _joined([each.get("extracted_content") for each in pasted if isinstance(each, Mapping)])


def _joined(texts: Sequence[Any]) -> str:
    return "\n\n".join(each for each in texts if isinstance(each, str) and each.strip())


def _put_together(
    chat_id: Any,
    title: Any,
    began: datetime | None,
    said: Sequence[tuple[str, str, str, datetime | None, Any]],
    where: str,
) -> Chat:
    """Return the chat; what does not say when it was said was so with what came before it."""
    if not _is_name(chat_id):
        raise _wrong(where, "has no id")
    drafts, moment = [], began
    for name, role, text, at, model in said:
        moment = at or moment
        if content := _storable(text, MAX_CONTENT_BYTES):
            known = model if _is_name(model) else None
            drafts.append(
                MessageDraft(role, content, client_id=name[:LONGEST_NAME], created_at=moment, model=known, where=where)
            )
    words = " ".join(_storable(title, 4 * LONGEST_TITLE).split()) if isinstance(title, str) else ""
    return Chat(chat_id, words[:LONGEST_TITLE], began, tuple(drafts))


def _storable(text: str, most: int) -> str:
    """Return a text without what no database takes, and no longer than `most` bytes; nothing of white space alone."""
    kept = text.replace("\x00", "").encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
    return kept if kept.strip() else ""


def _is_name(given: Any) -> bool:
    return isinstance(given, str) and 1 <= len(given) <= LONGEST_NAME and _storable(given, 4 * LONGEST_NAME) == given


def _moment(given: Any, now: datetime) -> datetime | None:
    """Return a moment, given as seconds or in words, that has been; None for what is none."""
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            moment = datetime.fromtimestamp(given, UTC)
        else:
            moment = datetime.fromisoformat(given)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return min(moment, now)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _wrong(where: str, what: str) -> InvalidError:
    return InvalidError("file", f"{where}: {what}")
