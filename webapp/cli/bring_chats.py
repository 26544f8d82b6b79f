"""`commonplace import chats`: bringing in what was said elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
from tqdm import tqdm

from memory.clock import utc_now
from memory.ids import new_id
from memory.messages.messages import Scribe
from memory.models import DEFAULT_SPACE
from memory.storage.database import user_session
from memory.transfer.bringing import COMMAND
from memory.transfer.bringing_chats import bring_in_chat, latest_first
from memory.transfer.chat_files import Chat, chats_of
from retrieval.words.tokens import count
from webapp.cli.wiring import migrated_store, user_named

PATH = click.Path(exists=True, path_type=Path)
# What came of the chats, in words, by the names that `bring_in_chat` counts by.
_CAME_OF = {
    "chats": "brought in",
    "continued": "went on since",
    "there": "there already",
    "refused": "not taken, as their space is incognito by default",
    "silent": "left out, as nothing is said in them or they are not to be remembered",
}


@click.command("chats")
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH...")
@click.option("--email", required=True, help="Whose conversations they become.")
@click.option("--space", default=DEFAULT_SPACE, show_default=True, help="The space that new ones come into.")
@click.option("--dry-run", is_flag=True, help="Only show which chats there are.")
def import_chats(paths: tuple[Path, ...], email: str, space: str, dry_run: bool) -> None:
    """Bring in chats from an export of ChatGPT or Claude.

    PATH is the archive, its conversations.json, or a folder where it was unpacked. Each chat becomes a conversation
    with what the two said and when, and is searched as what is said here is. Each comes in whole or not at all, and
    nothing twice: a later export adds what was said since. What tools did, thoughts and pictures are left out, and so
    is what was said before it was asked again.
    """
    now = utc_now()
    chats = [chat for path in paths for chat in chats_of(path, now)]
    spoken = latest_first(chats)
    if dry_run:
        _show(spoken)
        return
    store = migrated_store()
    user_id = user_named(store, email)
    counts = Counter(silent=len(chats) - len(spoken))
    for chat in tqdm(spoken, unit="chat", disable=None):
        scribe = Scribe(store.keys, count, utc_now(), COMMAND, str(new_id()))
        with user_session(store.sessions, user_id) as session:
            counts += bring_in_chat(session, user_id, space, chat, scribe)
    told = [f"{counts[name]:,} {words}" for name, words in _CAME_OF.items() if counts[name] or name == "chats"]
    click.echo(f"{'; '.join(told)}. Messages stored: {counts['messages']:,}.")
    if counts["messages"]:
        click.echo("A running server makes their vectors, and so does `commonplace backfill`.")


def _show(chats: Sequence[Chat]) -> None:
    for chat in chats:
        day = f"{chat.ended_at:%Y-%m-%d}" if chat.ended_at else "no date   "
        click.echo(f"{day}  {len(chat.messages):5,}  {chat.title or '(no title)'}")
    messages = sum(len(chat.messages) for chat in chats)
    click.echo(f"{len(chats):,} chats with {messages:,} messages in all. Nothing was stored.")
