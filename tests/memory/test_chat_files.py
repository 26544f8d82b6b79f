"""What was said in the chats that other programs export."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
import zlib
from contextlib import suppress
from datetime import UTC, datetime
from time import process_time

import pytest
from exported_chats import BEGAN, archive, chatgpt, claude, node, turn

from memory.errors import InvalidError
from memory.messages.drafts import MAX_CONTENT_BYTES
from memory.transfer.chat_files import Chat, chats_in, chats_of

NOW = datetime(2026, 5, 1, tzinfo=UTC)
BEGINNING = datetime.fromtimestamp(BEGAN, UTC)


def read(content: object, name: str = "conversations.json") -> list[Chat]:
    written = content if isinstance(content, bytes) else json.dumps(content).encode()
    return chats_in(io.BytesIO(written), name, NOW)


def said(content: object) -> list[str]:
    [chat] = read(content)
    return [message.content for message in chat.messages]


def test_a_chat_of_chatgpt_has_what_was_said_and_when():
    [chat] = read([chatgpt()])
    assert (chat.id, chat.title, chat.created_at) == ("chat-1", "Bus to Sintra", BEGINNING)
    told = [(each.role, each.content, each.client_id, each.model) for each in chat.messages]
    assert told == [
        ("user", "Where is the bus to Sintra?", "q1", None),
        ("assistant", "It leaves from Campo Grande.", "a1", "gpt-4o"),
    ]
    assert {each.created_at for each in chat.messages} == {datetime.fromtimestamp(BEGAN + 60, UTC)}


def test_a_chat_of_claude_has_what_was_said_and_when():
    [chat] = read([claude()])
    assert (chat.id, chat.title) == ("chat-2", "Pruning roses")
    assert chat.created_at == datetime(2024, 6, 1, 9, 59, tzinfo=UTC)
    assert [(each.role, each.content, each.client_id) for each in chat.messages] == [
        ("user", "When are roses pruned?", "t1"),
        ("assistant", "In late winter.", "t2"),
    ]
    assert chat.ended_at == datetime(2024, 6, 1, 10, 0, 0, 123456, tzinfo=UTC)


def test_what_was_asked_again_counts_as_it_ended():
    nodes = (
        node("q1", "root"),
        node("a1", "q1", "assistant"),
        node("a2", "q1", "assistant"),
        node("q2", "a2"),
    )
    assert said([chatgpt(*nodes)]) == ["user says q1", "assistant says a2", "user says q2"]
    assert said([chatgpt(*nodes, current_node="a1")]) == ["user says q1", "assistant says a1"]


def test_a_chat_that_does_not_say_where_it_ended_did_so_with_what_was_written_last():
    nodes = (
        node("q1", "root"),
        node("a2", "q1", "assistant", create_time=BEGAN + 200),
        node("a1", "q1", "assistant", create_time=BEGAN + 100),
        node("a3", "q1", "assistant", create_time=None),
    )
    assert said([chatgpt(*nodes, current_node=None)]) == ["user says q1", "assistant says a2"]


@pytest.mark.parametrize("moment", [None, BEGAN])
def test_a_chat_whose_nodes_do_not_say_what_follows_ended_with_the_last_of_them(moment):
    chat = chatgpt(node("q1", "root"), node("a1", "q1", "assistant"), current_node=None)
    for each in chat["mapping"].values():
        each.pop("children")
        if each["message"]:
            each["message"]["create_time"] = moment
    assert said([chat]) == ["user says q1", "assistant says a1"]


@pytest.mark.parametrize("shell", [{"mapping": None}, {}])
def test_a_chat_of_which_nothing_is_left_has_nothing(shell):
    lost, chat = read([{"conversation_id": "chat-0", "title": "Gone", **shell}, chatgpt()])
    assert (lost.id, lost.messages, len(chat.messages)) == ("chat-0", (), 2)


def test_nodes_that_follow_one_another_in_a_ring_are_read_once():
    first, second = node("q1", "a1"), node("a1", "q1", "assistant")
    assert said([chatgpt(first, second)]) == ["user says q1", "assistant says a1"]


@pytest.mark.parametrize(
    "unsaid",
    [
        node("x", "q1", "system"),
        node("x", "q1", "tool"),
        node("x", "q1", "assistant", recipient="python"),
        node("x", "q1", "user", metadata={"is_visually_hidden_from_conversation": True}),
        node("x", "q1", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
        node("x", "q1", "assistant", content={"content_type": "code", "text": "print()"}),
        node("x", "q1", "user", content={"content_type": "user_editable_context", "parts": ["About me"]}),
        node("x", "q1", "user", [{"content_type": "image_asset_pointer", "asset_pointer": "file://x"}]),
        node("x", "q1", "user", ["", "  "]),
        {"id": "x", "message": None, "parent": "q1", "children": []},
        {"id": "x", "message": {"author": None, "content": None, "metadata": None}, "parent": "q1", "children": []},
    ],
)
def test_what_nobody_said_is_left_out(unsaid):
    assert said([chatgpt(node("q1", "root"), unsaid, node("a1", "x", "assistant"))]) == [
        "user says q1",
        "assistant says a1",
    ]


def test_what_was_spoken_and_what_was_written_beside_a_picture_is_said():
    spoken = {"content_type": "audio_transcription", "text": "Where do I park?", "direction": "in"}
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}
    content = {"content_type": "multimodal_text", "parts": [spoken, picture, "At the harbour?"]}
    assert said([chatgpt(node("q1", "root", content=content))]) == ["Where do I park?\nAt the harbour?"]


def test_marks_that_only_the_page_of_chatgpt_can_show_are_shown_as_it_does():
    marked = "\ue200entity\ue202Lisbon\ue201 has trams.\ue200cite\ue202turn0search1\ue201"
    references = [{"matched_text": "\ue200entity\ue202Lisbon\ue201", "alt": "Lisbon"}, {"matched_text": " "}, None]
    reply = node("a1", "root", "assistant", marked, metadata={"content_references": references})
    assert said([chatgpt(reply)]) == ["Lisbon has trams."]


def test_a_mark_is_shown_once_whatever_is_shown_for_it():
    references = [{"matched_text": f"\ue200{at}\ue201", "alt": f"x\ue200{at + 1}\ue201" * 2} for at in range(18)]
    reply = node("a1", "root", "assistant", "\ue2000\ue201.", metadata={"content_references": references})
    assert said([chatgpt(reply)]) == ["xx."]


def test_much_that_is_shown_for_many_marks_is_cut_off_where_a_message_ends():
    references = [{"matched_text": "\ue2000\ue201", "alt": "x" * 1_000_000}]
    reply = node("a1", "root", "assistant", "\ue2000\ue201" * 200, metadata={"content_references": references})
    written = json.dumps([chatgpt(reply)]).encode()
    tracemalloc.start()
    try:
        [chat] = read(written)
        assert tracemalloc.get_traced_memory()[1] < 32_000_000
    finally:
        tracemalloc.stop()
    assert len(chat.messages[0].content) == MAX_CONTENT_BYTES


def test_marks_that_do_not_end_take_no_longer_than_other_words():
    began = process_time()
    assert len(said([chatgpt(node("q1", "root", said="\ue200" * 150_000))])[0]) == 150_000
    assert process_time() - began < 2


@pytest.mark.parametrize("odd", [[], {}, 7, True])
def test_what_is_of_another_kind_than_it_should_be_is_as_if_it_were_not_there(odd):
    asked, reply = node("q1", "root"), node("a1", "q1", "assistant", metadata={"model_slug": odd})
    assert said([chatgpt(asked, reply, current_node=odd)]) == ["user says q1", "assistant says a1"]
    assert said([chatgpt(asked, node("a1", "q1", "assistant", recipient=odd))]) == ["user says q1"]
    assert said([chatgpt(asked, node("a1", "q1", content={"content_type": odd, "parts": ["x"]}))]) == ["user says q1"]
    lost = chatgpt(asked, reply)
    lost["mapping"]["a1"]["parent"] = odd
    assert said([lost]) == ["assistant says a1"]
    turns = turn("t1", parent_message_uuid=odd), turn("t2", "assistant", parent_message_uuid="t1")
    assert said([claude(*turns, current_leaf_message_uuid=odd)]) == ["human says t1", "assistant says t2"]


def test_a_moment_beyond_all_numbers_is_none():
    beyond = node("q1", "root", create_time=10**400)
    [chat] = read([chatgpt(beyond, create_time=10**400, current_node=None)])
    assert (chat.created_at, [message.created_at for message in chat.messages]) == (None, [None])


def test_a_model_whose_name_no_database_takes_is_none():
    [chat] = read([chatgpt(node("a1", "root", "assistant", metadata={"model_slug": "gpt\x00"}))])
    assert [message.model for message in chat.messages] == [None]


def test_a_chat_that_is_not_to_be_remembered_has_nothing():
    [chat] = read([chatgpt(is_do_not_remember=True)])
    assert chat.messages == ()


def test_of_claude_what_tools_and_thoughts_are_is_left_out():
    blocks = [
        {"type": "thinking", "thinking": "Hm"},
        {"type": "text", "text": "First."},
        {"type": "tool_use", "name": "search", "input": {}},
        {"type": "tool_result", "content": []},
        {"type": "text", "text": "Then."},
        None,
    ]
    reply = turn("t1", "assistant", content=blocks, text="This block is not supported")
    assert said([claude(reply)]) == ["First.\n\nThen."]


def test_of_claude_what_stands_in_the_text_for_a_tool_is_left_out():
    unshown = "\n```\nThis block is not supported on your current device yet.\n```\n"
    tool = [{"type": "tool_use", "name": "artifacts", "input": {}}]
    blocks = turn("t2", "assistant", unshown, content=tool)
    older = turn("t3", "assistant", f"I look.{unshown}It is noon.", content=[])
    assert said([claude(turn("t1"), blocks, older)]) == ["human says t1", "I look.\n\nIt is noon."]


def test_of_claude_the_text_of_before_there_were_blocks_is_read():
    assert said([claude(turn("t1", said="Old words", content=None))]) == ["Old words"]
    assert said([claude(turn("t1", said="Old words", content=[]))]) == ["Old words"]


def test_what_was_pasted_is_said_where_nothing_else_is():
    pasted = [{"file_name": "paste.txt", "extracted_content": "A long letter"}]
    alone = turn("t1", text="", content=[], attachments=pasted)
    beside = turn("t2", said="What does it say?", attachments=pasted)
    assert said([claude(alone, beside)]) == ["A long letter", "What does it say?"]


def test_of_claude_what_was_asked_again_counts_as_it_ended():
    turns = [
        turn("t1", parent_message_uuid="00000000-0000-4000-8000-000000000000"),
        turn("t2", "assistant", parent_message_uuid="t1"),
        turn("t3", "assistant", parent_message_uuid="t1"),
        turn("t4", parent_message_uuid="t3"),
    ]
    assert said([claude(*turns)]) == ["human says t1", "assistant says t3", "human says t4"]
    assert said([claude(*turns, current_leaf_message_uuid="t2")]) == ["human says t1", "assistant says t2"]


def test_a_moment_that_nobody_knows_is_that_of_what_came_before():
    nodes = (
        node("q1", "root", create_time=None),
        node("a1", "q1", "assistant"),
        node("q2", "a1", create_time="never"),
        node("a2", "q2", "assistant", create_time=1e300),
    )
    [chat] = read([chatgpt(*nodes)])
    later = datetime.fromtimestamp(BEGAN + 60, UTC)
    assert [each.created_at for each in chat.messages] == [BEGINNING, later, later, later]


def test_a_clock_that_was_wrong_has_written_now():
    [chat] = read([chatgpt(node("q1", "root", create_time=4e9), create_time=4e9)])
    assert (chat.created_at, chat.ended_at) == (NOW, NOW)


def test_what_no_database_takes_is_left_out_of_what_was_said():
    assert said([chatgpt(node("q1", "root", said="a\x00b \ud83d c"))]) == ["ab ? c"]


def test_what_is_too_long_for_a_message_is_kept_as_far_as_it_goes():
    [text] = said([chatgpt(node("q1", "root", said="ä" * MAX_CONTENT_BYTES))])
    assert text == "ä" * (MAX_CONTENT_BYTES // 2)


def test_a_title_is_one_line_that_is_not_too_long():
    [chat] = read([chatgpt(title=f"  Two\n words {'x' * 600}")])
    assert chat.title.startswith("Two words xxx")
    assert len(chat.title) == 500
    assert read([chatgpt(title=None)])[0].title == ""


def test_one_chat_that_is_in_no_list_is_read():
    assert said(chatgpt()) == ["Where is the bus to Sintra?", "It leaves from Campo Grande."]


def test_both_kinds_may_be_in_one_file():
    assert [chat.id for chat in read([chatgpt(), claude()])] == ["chat-1", "chat-2"]


@pytest.mark.parametrize("spaced", ["[]", " [ ] ", "\ufeff[]\n"])
def test_an_empty_list_has_no_chat(spaced):
    assert read(spaced.encode()) == []


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"[{]", "conversations.json: is cut off, or no JSON"),
        (json.dumps([chatgpt(), claude()]).encode()[:-1], "conversations.json: is cut off, or no JSON"),
        (json.dumps([chatgpt()]).encode() + b"x", "conversations.json: is cut off, or no JSON"),
        (b"[1 2]", "number 1: is no chat"),
        (b"[,]", "is cut off, or no JSON"),
        (b"", "is cut off, or no JSON"),
        (b"[" * 100_000, "is cut off, or no JSON"),
        (b"\xff[]", "conversations.json: is not UTF-8"),
        (b'{"memory": "Loves hiking"}', "conversations.json, number 1: is no chat of ChatGPT"),
        (json.dumps([chatgpt(conversation_id=None)]).encode(), "conversations.json, number 1: has no id"),
        (json.dumps([claude(), claude(uuid=7)]).encode(), "conversations.json, number 2: has no id"),
        (json.dumps([claude(uuid="x" * 257)]).encode(), "number 1: has no id"),
        (json.dumps([claude(uuid="x\x00")]).encode(), "number 1: has no id"),
        (json.dumps([claude(uuid="\ud800")]).encode(), "number 1: has no id"),
        (b'[{"mapping": {}, "id": 1' + b"0" * 5000 + b"}]", "is cut off, or no JSON"),
    ],
)
def test_what_is_no_export_is_refused_with_its_place(content, wrong):
    with pytest.raises(InvalidError) as error:
        read(content)
    assert (error.value.field, wrong in error.value.message) == ("file", True)


def test_an_older_chat_goes_by_its_other_id():
    assert read([chatgpt(conversation_id=None, id="old")])[0].id == "old"


def test_the_archive_is_read_as_it_comes():
    files = {"user.json": {}, "export/conversations-001.json": [claude()], "export/conversations-000.json": [chatgpt()]}
    assert [chat.id for chat in read(archive(files), "export.ZIP")] == ["chat-1", "chat-2"]


def locked() -> bytes:
    """An archive that says of its one file that it is locked."""
    content = bytearray(archive({"conversations.json": [chatgpt()]}))
    for sign, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(sign) + flags] |= 1
    return bytes(content)


def broken() -> bytes:
    """An archive with another content than it says."""
    content = archive({"conversations.json": [chatgpt()]})
    place = content.index(b"conversations.json") + 60
    return content[:place] + bytes(20) + content[place + 20 :]


def misnamed() -> bytes:
    """An archive with a name that is no text."""
    return archive({"conversations.json": [chatgpt()], "é.json": {}}).replace("é".encode(), b"\xff\xff")


def misplaced() -> bytes:
    """An archive that says of its one file that it stands before the archive."""
    content = bytearray(archive({"conversations.json": [chatgpt()]}))
    at = content.rindex(b"PK\x05\x06") + 16
    content[at : at + 4] = (2**24).to_bytes(4, "little")
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (archive({"user.json": {}}), "has no conversations.json"),
        (archive({"conversations.json": b"\xff"}), "export.zip, conversations.json: is not UTF-8"),
        (archive({"conversations.json": [chatgpt()]})[:-30], "is no archive, is cut off, or is locked"),
        (b"PK", "is no archive, is cut off, or is locked"),
        (locked(), "is no archive, is cut off, or is locked"),
        (broken(), "is no archive, is cut off, or is locked"),
        (misnamed(), "is no archive, is cut off, or is locked"),
        (misplaced(), "is no archive, is cut off, or is locked"),
    ],
)
def test_an_archive_without_chats_is_refused(content, wrong):
    with pytest.raises(InvalidError) as error:
        read(content, "export.zip")
    assert wrong in error.value.message


def test_an_archive_is_not_unpacked_beyond_what_is_taken():
    content = archive({"conversations.json": [chatgpt(title="x" * 3_000_000)]})
    with pytest.raises(InvalidError, match="has more than 2 MB of chats"):
        chats_in(io.BytesIO(content), "export.zip", NOW, most=2**21)
    assert len(chats_in(io.BytesIO(content), "export.zip", NOW, most=2**22)) == 1


def test_an_archive_that_says_it_has_less_than_it_has_is_cut_off():
    content = bytearray(archive({"conversations.json": [chatgpt()]}))
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as opened:
        size = opened.infolist()[0].file_size
    for sign, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.index(sign) + place
        content[at : at + 4] = (size - 10).to_bytes(4, "little")
    with pytest.raises(InvalidError, match="is cut off"):
        read(bytes(content), "export.zip")


@pytest.mark.parametrize("packed", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_an_archive_has_beyond_what_it_says_is_not_unpacked(packed):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", packed) as opened:
        opened.writestr("conversations.json", b"[]" + b" " * 50_000_000)
    content = bytearray(written.getvalue())
    at = content.index(b"PK\x01\x02") + 16
    content[at : at + 4] = zlib.crc32(b"[]").to_bytes(4, "little")
    content[at + 8 : at + 12] = (2).to_bytes(4, "little")
    tracemalloc.start()
    try:
        with suppress(InvalidError):
            assert chats_in(io.BytesIO(content), "export.zip", NOW, most=2**21) == []
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("many", [[[]] * 70_000, [{}] * 70_000, [1] * 70_000])
def test_a_file_of_many_values_is_not_read_into_memory(many):
    content = json.dumps([chatgpt(plugin_ids=many)]).encode()
    for name, sent in (("conversations.json", content), ("x.zip", archive({"conversations.json": content}))):
        with pytest.raises(InvalidError, match="has too many values for so few bytes"):
            chats_in(io.BytesIO(sent), name, NOW, most=2**20)
        assert len(chats_in(io.BytesIO(sent), name, NOW)) == 1


def test_a_folder_is_read_where_one_was_unpacked(tmp_path):
    (tmp_path / "export" / "inner").mkdir(parents=True)
    (tmp_path / "export" / "conversations.json").write_text(json.dumps([chatgpt()]))
    (tmp_path / "export" / "inner" / "conversations-000.json").write_text(json.dumps([claude()]))
    (tmp_path / "export" / "user.json").write_text("{}")
    assert [chat.id for chat in chats_of(tmp_path / "export", NOW)] == ["chat-1", "chat-2"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidError, match=r"empty: has no conversations\.json"):
        chats_of(tmp_path / "empty", NOW)
