"""Every page that a browser can open, from the app's own map of addresses, and what becomes of pages when one acts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from flask import Flask
from furnished import Furnished
from playwright.sync_api import Page
from secrets_of_tests import PASSWORD

# What a GET answers with that is no page of ours: files, ways back, numbers for machines, a refusal to agents.
NOT_PAGES = {"static", "account.back", "account.export", "account.notes"}
NOT_PAGES |= {"ops.healthz", "ops.readyz", "ops.metrics", "mcp.other"}
# Only a form leads there, with all that it takes: the acts below go that way.
LED_TO = {"bulk.ask", "bulk.done"}
# With an argument each; the ids are those of the furnished account.
EXAMPLES: dict[str, object] = {
    "sequence": 4,
    "version": 1,
    "number": 1,
    "slug": "studio",
    "name": "memory_search",
    "form": "html",
}
# Pages that also look different when they are asked for something.
ASKED = {
    "search.index": ("q=Which paper do I print on?&space=studio", "q=zebra&types=note"),
    "browse.index": ("tag=nothing+has+this+tag", "status=any&pinned=true"),
    "admin.index": ("q=robin", "q=nobody"),
    "entities.index": ("space=default",),
    "facts.index": ("ended=yes",),
    "conversations.index": ("q=cotton", "q=zebra"),
    "record.index": ("success=false", "tool=nothing"),
    "record.paths": ("operation=read",),
    "record.audit": ("verify=1",),
    "preferences.index": ("example=true",),
    "remember.index": ("text=Clara+likes+the+sea",),
}


@dataclass(frozen=True)
class Sight:
    """A page to look at: a name for its pictures, its address, what to do there first, the status that it has."""

    name: str
    path: str
    act: Callable[[Page], None] | None = None
    status: int = 200

    @property
    def is_file(self) -> bool:
        """Tell whether a browser saves it rather than shows it."""
        return "/export." in self.path


def sights(app: Flask, found: Furnished) -> list[Sight]:
    """Return every page of the map; raises `KeyError` for one whose arguments have no example."""
    return [*_mapped(app, {**EXAMPLES, **asdict(found)}), *ACTS]


def _mapped(app: Flask, examples: dict[str, Any]) -> Iterator[Sight]:
    for rule in sorted(app.url_map.iter_rules(), key=lambda each: each.rule):
        assert rule.methods is not None
        if "GET" not in rule.methods or rule.rule.startswith("/v1/") or rule.endpoint in NOT_PAGES | LED_TO:
            continue
        built = rule.build({name: examples[name] for name in rule.arguments})
        assert built is not None, rule.rule
        name = rule.endpoint.replace(".", "-").replace("_", "-")
        yield Sight(name, built[1])
        for number, query in enumerate(ASKED.get(rule.endpoint, ()), 2):
            yield Sight(f"{name}-{number}", f"{built[1]}?{query}")


def _remember(page: Page) -> None:
    page.get_by_label("One self-contained statement").fill("Benedita's gallery is closed on Tuesdays.")
    page.locator("form.stack").get_by_role("button", name="Remember").click()
    page.locator("#remember-trace").wait_for()


def _choose_several(page: Page) -> None:
    for box in page.locator(".desk-pick input").all()[:3]:
        box.check()
    page.get_by_text("Do something to several at once").click()
    page.get_by_label("With those that are ticked").select_option("tag")
    page.get_by_label("Tag to add or take off").fill("read again")


def _ask_for_several(page: Page) -> None:
    _choose_several(page)
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("link", name="Leave them").wait_for()


def _tag_several(page: Page) -> None:
    _ask_for_several(page)
    page.get_by_role("button", name="Tag 3 memories").click()
    page.get_by_role("button", name="Undo").wait_for()


def _forget(page: Page) -> None:
    page.locator("article.entry").first.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Undo").wait_for()


def _make_token(page: Page) -> None:
    page.get_by_label("What it is for").fill("tablet")
    page.get_by_role("button", name="Make a token").click()
    page.get_by_label("The token", exact=True).wait_for()


def _call_a_tool(page: Page) -> None:
    page.get_by_label("query, required").fill("Which paper do I print on?")
    page.get_by_role("button", name="Call memory_search").click()
    page.get_by_label("The answer").wait_for()


def _write_wrongly(page: Page) -> None:
    page.get_by_label("Markdown").fill("---\ndate_format: 5\nresponse_style: {verbosity: chatty}\n---\n")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("alert").wait_for()


def _make_an_empty_notebook(page: Page) -> None:
    page.get_by_label("Title of a new notebook").fill("An empty page")
    page.get_by_role("button", name="New notebook").click()
    for kind in ("Remember", "Recall", "Command", "Note"):
        page.get_by_role("form", name="Add a cell").get_by_role("button", name=kind).click()
        page.locator(f".cell-{kind.lower()}").wait_for()
    page.locator(".cell-note").get_by_role("button", name="Remove the cell").click()
    page.locator(".cell-removed").wait_for()


def _go_incognito(page: Page) -> None:
    page.get_by_role("button", name="Go incognito").click()
    page.get_by_role("region", name="Incognito").wait_for()


def _end_incognito_with_memory_off(page: Page) -> None:
    page.get_by_role("region", name="Incognito").get_by_role("button", name="End incognito").click()
    page.get_by_role("button", name="Memory off").click()
    page.get_by_role("region", name="Memory is off").wait_for()


def _fail_to_erase(page: Page) -> None:
    page.get_by_role("region", name="Memory is off").get_by_role("button", name="Turn memory on").click()
    page.get_by_role("textbox", name="Password", exact=True).fill("not my password")
    page.get_by_label("Type “erase everything”").fill("erase everything")
    page.get_by_role("button", name="Erase everything").click()
    page.get_by_role("alert").wait_for()


def _erase(page: Page) -> None:
    page.get_by_role("textbox", name="Password", exact=True).fill(PASSWORD)
    page.get_by_label("Type “erase everything”").fill("erase everything")
    page.get_by_role("button", name="Erase everything").click()
    page.get_by_role("heading", name="Everything is erased").wait_for()


def _mistype(page: Page) -> None:
    page.get_by_label("E-mail address").fill("robin@example.org")
    page.get_by_label("Password").fill("not my password")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()


# In this order: each changes what the later ones find, and the last two end the account.
ACTS = (
    Sight("error-not-found", "/memories/00000000-0000-0000-0000-000000000000", status=404),
    Sight("error-not-a-head", "/record/audit?expect=12:0f&verify=1", status=422),
    Sight("act-remember", "/remember", _remember),
    Sight("act-choose-several", "/memories", _choose_several),
    Sight("act-ask-for-several", "/memories", _ask_for_several),
    Sight("act-tag-several", "/memories", _tag_several),
    Sight("act-forget", "/search?q=Guests and the Wi-Fi", _forget),
    Sight("act-make-token", "/tokens", _make_token),
    Sight("act-call-a-tool", "/playground/memory_search", _call_a_tool),
    Sight("act-write-wrongly", "/preferences", _write_wrongly),
    Sight("act-new-notebook", "/notebooks", _make_an_empty_notebook),
    Sight("act-incognito", "/", _go_incognito),
    Sight("act-memory-off", "/memories", _end_incognito_with_memory_off),
    Sight("act-fail-to-erase", "/account", _fail_to_erase),
    Sight("act-erase", "/account", _erase),
    Sight("act-mistype", "/login", _mistype),
)
