"""What a person does with the pages, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from secrets_of_tests import PASSWORD

from memory.accounts.accounts import create_token
from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.spaces.spaces import create_space, lock_spaces, update_space
from memory.storage.database import user_session
from memory.writing.remember import remember

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LogIn = Callable[..., Page]
BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])


def _search(page: Page, question: str) -> None:
    """Ask on the page of the search."""
    page.get_by_label("Ask your memory").fill(question)
    page.get_by_role("button", name="Search").click()


@BOTH
def test_a_search_finds_and_explains(log_in: LogIn, library: Any, scripts: bool) -> None:
    page = log_in(library, at="/search", java_script_enabled=scripts)
    _search(page, "Which nuts is Ada allergic to?")
    first = page.locator(".entry").first
    expect(first.locator("mark", has_text="allergic")).to_be_visible()
    expect(first.locator(".entry-why")).to_contain_text("1st by words, 1st by meaning")
    assert first.locator(".bar .bar-fill").count() == 4


def test_bars_are_drawn_as_long_as_their_numbers_say(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/search")
    _search(page, "bakery Mondays")
    bar = page.locator(".entry").first.locator(".bar", has_text="Relevance")
    value = float(bar.locator(".bar-value").inner_text())
    drawn, track = (bar.locator(name).bounding_box() for name in (".bar-fill", ".bar-track"))
    assert drawn is not None and track is not None  # noqa: PT018 - one fact: both are there
    assert drawn["width"] / track["width"] == pytest.approx(value, abs=0.02)


STICKS_OUT = """(inner) => {
    const room = inner.closest(".margin").getBoundingClientRect();
    return [...inner.querySelectorAll("*")].map((each) => each.getBoundingClientRect())
        .some((each) => each.right > room.right || each.left < room.left);
}"""


def test_the_scores_of_a_memory_stay_in_their_column(log_in: LogIn, reader: Any) -> None:
    odd = {"alpha": 1.8285714, "beta": 0.05, "gamma": 1 / 3}
    with user_session(reader.runtime.sessions, reader.id) as session:
        update_space(session, reader.id, "default", {"policy": odd}, now=utc_now(), actor="test")
    page = log_in(reader, at="/search?q=hazelnuts")
    page.locator(".entry").first.get_by_role("link", name="Open").click()
    # With which weights it was ranked nobody knows any more, so its total is a part of nothing.
    total = page.locator(".bar", has_text="Total").first
    expect(total.locator(".bar-value")).to_have_text(re.compile(r"^\d\.\d\d$"))
    expect(total.locator("svg, .bar-weight")).to_have_count(0)
    for path in (page.url, "/search?q=hazelnuts"):
        page.goto(path)
        for width in (1280, 375):
            page.set_viewport_size({"width": width, "height": 800})
            assert not any(bars.evaluate(STICKS_OUT) for bars in page.locator(".bars").all())


# What comes into a region that is there already: what a region comes with, nobody is told.
TELLS = """addEventListener("load", () => new MutationObserver((records) => {
    const told = records.filter((each) => each.target.matches("[role=status]") && each.addedNodes.length);
    if (told.length) document.body.dataset.told = told.at(-1).target.textContent;
}).observe(document.body, { childList: true, subtree: true }))"""


def test_a_notice_that_a_page_comes_with_is_announced(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/account")
    page.add_init_script(TELLS)
    page.get_by_role("button", name="Set it").click()
    expect(page.locator("#flash .notice")).to_have_text(re.compile(r"\w"))
    expect(page.locator("body")).to_have_attribute("data-told", page.locator("#flash").text_content() or "")


def test_what_is_found_or_forgotten_is_announced(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at=None)
    page.add_init_script(TELLS)
    page.goto("/memories")
    told = page.locator("body")
    page.get_by_label("Words in them").fill("hazelnuts")
    expect(told).to_have_attribute("data-told", re.compile("1 memory, newest first"))
    page.get_by_label("Words in them").fill("zebra")
    expect(told).to_have_attribute("data-told", re.compile("No active memory has these words"))
    page.get_by_label("Words in them").fill("bakery")
    page.locator(".entry", has_text="bakery").get_by_role("button", name="Forget").click()
    expect(told).to_have_attribute("data-told", re.compile("Forgotten. It is gone for good in"))
    expect(page.get_by_role("button", name="Undo")).to_be_focused()


def test_a_search_waits_until_the_question_is_finished(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/search")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/search" in request.url else None)
    box = page.get_by_label("Ask your memory")
    for words in ("what of ", "hazelnuts"):
        box.press_sequentially(words, delay=10)
        page.wait_for_timeout(900)
    assert asked == []
    page.keyboard.press("Enter")
    expect(page.locator(".entry").first).to_contain_text("hazelnuts")
    expect(page).to_have_url(re.compile(r"/search\?q=what\+of\+hazelnuts"))
    expect(page).to_have_title("what of hazelnuts · Commonplace")
    expect(box).to_be_focused()


def test_a_search_is_asked_once(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/search")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/search" in request.url else None)
    page.get_by_label("Ask your memory").press_sequentially("hazelnuts", delay=10)
    page.keyboard.press("Enter")
    expect(page.locator(".entry").first).to_contain_text("hazelnuts")
    page.wait_for_timeout(900)
    assert len(asked) == 1


def test_back_leads_to_the_question_before(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/search")
    box = page.get_by_label("Ask your memory")
    for question in ("hazelnuts", "bakery"):
        box.fill("")
        box.press_sequentially(question, delay=10)
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(rf"/search\?q={question}$"))
    page.go_back()
    expect(box).to_have_value("hazelnuts")
    expect(page.locator(".entry").first).to_contain_text("hazelnuts")
    page.go_back()
    expect(box).to_have_value("")
    page.go_forward()
    expect(box).to_have_value("hazelnuts")


def test_another_ranking_is_shown_at_once(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/search")
    _search(page, "hazelnuts")
    page.get_by_text("Types, tag and ranking").click()
    page.get_by_label("Ranking").select_option("specified")
    expect(page.locator(".stages")).to_contain_text("specified, rrf")


def test_another_space_is_asked_at_once(log_in: LogIn, new_person: Callable[..., Any]) -> None:
    person = new_person("tenant")
    with person.session() as session:
        create_space(session, person.id, "studio", soft_cap=200, now=utc_now(), actor="test", name="Studio")
        rent = Draft(text="The rent of the studio is 820 euros a month.")
        remember(session, person.id, "studio", rent, keys=person.runtime.keys, now=utc_now(), actor="test")
    page = log_in(person, at="/search")
    _search(page, "rent of the studio")
    expect(page.locator("#search-results")).to_contain_text("Searched in Default")
    expect(page.get_by_role("link", name="Studio has words of it")).to_be_visible()
    page.get_by_label("Space").select_option("studio")
    expect(page.locator("#search-results")).to_contain_text("Searched in Studio")
    expect(page.locator(".entry").first).to_contain_text("820 euros")


def test_the_address_of_a_search_can_be_kept(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/search?q=bakery")
    page.reload()
    expect(page.locator(".entry").first).to_contain_text("bakery")


def test_pin_and_unpin_in_place(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/search")
    _search(page, "bakery")
    entry = page.locator(".entry").first
    entry.get_by_role("button", name="Pin").click()
    expect(entry.get_by_role("button", name="Pinned")).to_have_attribute("aria-pressed", "true")
    expect(entry.get_by_role("button", name="Pinned")).to_be_focused()
    entry.get_by_role("button", name="Pinned").click()
    expect(entry.get_by_role("button", name="Pin", exact=True)).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_who_pins_a_long_memory_on_its_page_still_sees_the_button(log_in: LogIn, reader: Any, scripts: bool) -> None:
    with user_session(reader.runtime.sessions, reader.id) as session:
        draft = Draft(text="Ada winds the clocks. " * 200)
        kept = remember(session, reader.id, "default", draft, keys=reader.runtime.keys, now=utc_now(), actor="test")
    page = log_in(reader, at=f"/memories/{kept.id}", java_script_enabled=scripts)
    page.set_viewport_size({"width": 390, "height": 600})
    for name in ("Pin", "Pinned"):
        page.get_by_role("button", name=name, exact=True).click()
        other = page.get_by_role("button", name="Pin" if name == "Pinned" else "Pinned", exact=True)
        expect(other).to_be_in_viewport(ratio=1)


def test_forget_and_undo_in_place(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/search")
    _search(page, "hazelnuts")
    page.locator(".entry").first.get_by_role("button", name="Forget").press("Enter")
    expect(page.locator(".notice")).to_contain_text("Forgotten")
    expect(page.get_by_text("Ada is allergic")).to_have_count(0)
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    first = page.locator("article.entry").first
    expect(first).to_contain_text("Ada is allergic to hazelnuts")
    expect(first.get_by_role("button", name="Forget")).to_be_focused()


def test_what_comes_can_be_pressed_as_soon_as_it_is_there(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/search")
    _search(page, "hazelnuts")
    forget = page.locator("article.entry").first.get_by_role("button", name="Forget")
    expect(forget).to_be_visible()
    press = "() => setTimeout(() => document.querySelector('.notice button').click())"
    page.evaluate(f"addEventListener('htmx:afterSwap', {press}, {{ once: true }})")
    with page.expect_response("**/restore"):
        forget.click()
    expect(page.locator("article.entry").first).to_contain_text("Ada is allergic to hazelnuts")
    expect(page).to_have_url(re.compile("/search"))


def test_pin_forget_and_undo_without_scripts(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/search", java_script_enabled=False)
    _search(page, "hazelnuts")
    page.locator(".entry").first.get_by_role("button", name="Pin").click()
    expect(page).to_have_url(re.compile(r"/search\?q=hazelnuts"))
    expect(page.locator(".entry").first.get_by_role("button", name="Pinned")).to_be_visible()
    page.locator(".entry").first.get_by_role("button", name="Forget").click()
    expect(page.locator("#flash")).to_contain_text("Forgotten")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".entry-large")).to_contain_text("Ada is allergic to hazelnuts")


@BOTH
def test_browse_filter_and_load_more(log_in: LogIn, library: Any, scripts: bool) -> None:
    page = log_in(library, java_script_enabled=scripts)
    page.get_by_role("link", name="Memories", exact=True).click()
    expect(page.locator(".count")).to_contain_text("33 memories")
    expect(page.locator("article.entry")).to_have_count(20)
    page.get_by_role("link", name="Load more").click()
    expect(page.locator("article.entry")).to_have_count(33 if scripts else 13)
    page.get_by_label("Type").select_option("decision")
    if not scripts:
        page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("No active memory fits these filters")).to_be_visible()


@BOTH
def test_remember_shows_the_trace(log_in: LogIn, reader: Any, scripts: bool) -> None:
    page = log_in(reader, java_script_enabled=scripts)
    page.get_by_role("link", name="Remember", exact=True).click()
    page.get_by_label("One self-contained statement").fill("Ada always drinks her coffee black.")
    page.locator("form.stack").get_by_role("button", name="Remember").click()
    trace = page.locator("#remember-trace")
    expect(trace).to_contain_text("ada always drinks her coffee black.")
    expect(trace).to_contain_text("+0.30")
    trace.get_by_role("link", name="Open the memory").click()
    expect(page.locator(".entry-large")).to_contain_text("Ada always drinks her coffee black.")


@BOTH
def test_incognito_closes_and_opens_the_notebook(
    log_in: LogIn, reader: Any, scripts: bool, contrast: Callable[[str, str], float]
) -> None:
    page = log_in(reader, at="/search?q=hazelnuts", java_script_enabled=scripts)
    page.get_by_role("button", name="Go incognito").click()
    expect(page.get_by_role("region", name="Incognito")).to_be_visible()
    expect(page.get_by_text("Ada is allergic")).to_have_count(0)
    end = page.get_by_role("region", name="Incognito").get_by_role("button", name="End incognito")
    if scripts:
        end.press("Shift+Tab")
        page.keyboard.press("Tab")
        expect(end).to_be_focused()
        ring = end.evaluate("(each) => getComputedStyle(each).outlineColor")
        assert contrast(ring, page.locator(".banner").evaluate("(each) => getComputedStyle(each).backgroundColor")) >= 3
    end.click()
    expect(page.get_by_text("Ada is allergic")).to_be_visible()


@BOTH
def test_the_colours_can_be_switched_and_stay(log_in: LogIn, library: Any, scripts: bool) -> None:
    page = log_in(library, java_script_enabled=scripts, color_scheme="light")
    light = _paper(page) if scripts else ""
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-appearance", "dark")
    page.goto("/memories")
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    assert not scripts or _paper(page) != light


def test_dark_systems_get_dark_paper(log_in: LogIn, library: Any) -> None:
    assert _paper(log_in(library, color_scheme="dark")) != _paper(log_in(library, color_scheme="light"))


def test_what_is_chosen_is_seen_in_the_colours_of_the_system(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/search", forced_colors="active")
    for chosen, other, property_ in (
        (".nav a[aria-current]", ".nav a:not([aria-current])", "borderBottomColor"),
        (".switch [aria-pressed=true]", ".switch [aria-pressed=false]", "backgroundColor"),
    ):
        seen, unseen = (
            page.locator(each).first.evaluate(f"(each) => getComputedStyle(each).{property_}")
            for each in (chosen, other)
        )
        assert seen != unseen, chosen
    # Who asks for more contrast has nothing fainter than ink.
    page.emulate_media(forced_colors="none", contrast="more")
    inks = (each.evaluate("(each) => getComputedStyle(each).color") for each in page.locator("body, .bottom").all())
    assert len(set(inks)) == 1


def _paper(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_no_page_scrolls_sideways(log_in: LogIn, library: Any, scrolls_sideways: Callable[..., Any]) -> None:
    page = log_in(library, at=None)
    paths = ("/search?q=hazelnuts", "/memories", "/remember")
    assert scrolls_sideways(page, paths, (320, 360, 768, 1280, 3840)) == []


def test_the_lines_of_a_text_begin_beneath_one_another(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories?q=adrenaline", viewport={"width": 250, "height": 900})
    lines = page.locator(".entry-text .verbatim").evaluate("(text) => [...text.getClientRects()].map(({ x }) => x)")
    assert (len(lines) > 2, len(set(lines))) == (True, 1)


# As wide as no screen has pixels, beside a box that ends where it does.
SCROLLS = """(main) => {
    main.insertAdjacentHTML("afterbegin", "<div class=desk-scroll><table class=desk-table><td>1</td></table></div>");
    main.firstElementChild.style.width = "500.3px";
}"""


def test_a_table_that_hides_nothing_has_no_shadow(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories")
    page.locator("main").evaluate(SCROLLS)
    box = page.locator(".desk-scroll").bounding_box()
    assert box is not None
    x, y = int(box["x"] + box["width"]) - 1, box["y"] + 8
    edge, paper = (page.screenshot(clip={"x": at, "y": y, "width": 2, "height": 8}) for at in (x, x + 20))
    assert edge == paper


def test_every_control_has_a_name(log_in: LogIn, library: Any, nameless: Callable[..., Any]) -> None:
    page = log_in(library, at=None)
    assert nameless(page, ("/login", "/search?q=hazelnuts", "/memories", "/remember")) == []


def test_the_keyboard_alone_reaches_a_hit(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    # A slash alone is no command: who speaks to the browser says many.
    page.keyboard.press("/")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    # As a keyboard sends it: what is pressed by name has no text of its own, by which a browser finds an access key.
    pressed = {"type": "keyDown", "modifiers": 1, "key": "/", "text": "/", "unmodifiedText": "/"}
    page.context.new_cdp_session(page).send("Input.dispatchKeyEvent", pressed)
    expect(page.get_by_label("Words in them")).to_be_focused()
    page.keyboard.type("hazelnuts")
    expect(page.locator(".entry")).to_have_count(1)
    expect(page.locator(".entry")).to_contain_text("hazelnuts")


def test_a_session_that_ended_leads_to_the_login_and_back(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories?status=active")
    page.context.clear_cookies()
    # The browser itself logs an error for the 401 that carries the redirect; a link is followed without one.
    page.get_by_role("link", name="Remember", exact=True).click()
    expect(page).to_have_url(re.compile(r"/login\?next=/remember"))


def test_logging_out_leaves_nothing_behind(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/search")
    _search(page, "hazelnuts")
    expect(page.locator(".entry").first).to_contain_text("hazelnuts")
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("#flash")).to_contain_text("You are logged out")
    page.go_back()
    expect(page).to_have_url(re.compile("/login"))
    assert "adrenaline" not in page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")


def test_who_remembers_goes_on_writing(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/remember")
    statement = page.get_by_label("One self-contained statement")
    expect(statement).to_be_focused()
    page.keyboard.type("Ada keeps bees.")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("#remember-trace")).to_contain_text("ada keeps bees")
    expect(statement).to_be_focused()


# Last in its row, it sees what is to become of each, and lets none leave the page.
SENT_TWICE = """(field) => {
    const sent = [];
    addEventListener("submit", (event) => sent.push(!event.defaultPrevented) && event.preventDefault());
    const send = (form) => form.requestSubmit();
    field.value = "Bees";
    send(field.form);
    send(field.form);
    // Another form is another wish, and so is the same one on a page that Back has brought again as it was.
    send(document.querySelector(".account form"));
    dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    send(field.form);
    return sent;
}"""


def test_what_is_written_is_sent_by_the_keyboard_on_every_page(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/remember")
    page.get_by_label("One self-contained statement").fill("Ada mends clocks")
    page.keyboard.press("Control+Enter")
    page.get_by_role("link", name="Open the memory").click()
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_label("What is to be remembered").fill("Ada mends old clocks")
    page.keyboard.press("Meta+Enter")
    expect(page.get_by_role("heading", name="What it said before")).to_be_visible()
    expect(page.locator("main")).to_contain_text("Ada mends old clocks")


def test_enter_twice_in_a_plain_form_is_enter_once(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/notebooks")
    assert page.get_by_label("Title of a new notebook").evaluate(SENT_TWICE) == [True, False, True, True]


@pytest.mark.parametrize(
    ("at", "name", "said"),
    [("/providers", "Test", "It does not work:"), ("/record/audit", "Check the chain", "Verified:")],
)
def test_a_button_that_was_disabled_has_the_focus_again(
    log_in: LogIn, reader: Any, at: str, name: str, said: str
) -> None:
    page = log_in(reader, at=at)
    for label, value in (("Address", "http://127.0.0.1:9/v1"), ("Model", "none")) if name == "Test" else ():
        page.get_by_role("textbox", name=label).fill(value)
    page.get_by_role("button", name=name).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.get_by_role("button", name=name)).to_be_focused()


@pytest.mark.parametrize("away", [True, False], ids=["away", "refused"])
def test_who_is_refused_goes_on_from_the_button(browser: Browser, address: str, reader: Any, away: bool) -> None:
    # A context of its own: the browser logs what is refused.
    with browser.new_context(base_url=address) as context:
        assert context.request.post("/login", form={"email": reader.email, "password": PASSWORD}).ok
        page = context.new_page()
        page.goto("/remember")
        page.get_by_label("One self-contained statement").fill("Ada keeps bees.")
        if away:
            page.route("**/remember", lambda route: route.abort())
        else:
            context.clear_cookies()
        button = page.get_by_role("button", name="Remember", exact=True)
        button.press("Enter")
        expect(page.locator("#flash")).to_contain_text("does not answer" if away else "You are logged out.")
        expect(button).to_be_focused()
        expect(page).to_have_title("Remember · Commonplace")


def test_facts_that_are_looked_for_are_shown_on_a_phone(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/facts")
    page.set_viewport_size({"width": 390, "height": 700})
    for name in ("Ada", "Bob"):
        page.get_by_label("Who or what").fill(name)
        page.get_by_label("What of it").fill("lives in")
        page.get_by_label("Where, whom or what").fill(f"{name}ville")
        page.get_by_role("button", name="State it").click()
        expect(page.get_by_text("It is kept.")).to_be_visible()
    page.get_by_label("About").fill("bob")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("Bobville")).to_be_in_viewport(ratio=1)
    expect(page.get_by_text("Adaville")).to_have_count(0)


def test_who_decides_by_the_keyboard_goes_on_from_what_was_decided(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/remember")
    for rent in (700, 750, 800):
        page.get_by_label("One self-contained statement").fill(f"The rent of the garage is {rent} euros")
        page.get_by_role("button", name="Remember").click()
        expect(page.get_by_text(f"is {rent} euros").first).to_be_visible()
    page.goto("/memories/undecided")
    waiting = page.get_by_role("button", name="Both hold")
    before = waiting.count()
    waiting.first.focus()
    page.keyboard.press("Enter")
    told = page.get_by_text("Decided: both hold.")
    expect(told).to_be_visible()
    expect(waiting).to_have_count(before - 1)
    expect(page.locator(":focus")).to_have_text("Decided: both hold.")


def test_the_field_that_is_wrong_has_the_focus(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/remember")
    page.get_by_label("One self-contained statement").fill("Ada keeps bees.")
    page.get_by_label("Tags").fill(",".join(map(str, range(40))))
    page.get_by_role("button", name="Remember").click()
    expect(page.get_by_role("alert")).to_contain_text("at most 32")
    expect(page.get_by_label("Tags")).to_be_focused()
    # A page that is loaded as a whole does the same.
    page.goto("/spaces")
    page.get_by_label("Its name for agents").fill("Not so!")
    page.get_by_label("Name of a new space").fill("Bees")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_label("Its name for agents")).to_be_focused()
    # And so does a part of one, though the button that sent it is there again.
    page.goto("/spaces/default")
    page.get_by_label("λ Sameness").fill("7")
    page.get_by_role("button", name="Save the ranking").click()
    expect(page.get_by_label("λ Sameness")).to_be_focused()
    page.goto("/tokens")
    page.get_by_label("What it is for").fill("Laptop")
    page.get_by_label("read", exact=False).first.uncheck()
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_role("alert").first).to_be_visible()
    expect(page.locator("input[name=scopes]").first).to_be_focused()


@pytest.mark.parametrize(
    ("at", "given", "button", "said"),
    [
        ("/remember", {"text": "Ada keeps bees.", "tags": "x" * 65}, "Remember", "must be at most 64 characters each"),
        ("/remember", {"text": "Ada keeps bees.", "last_day": "2020-01-01"}, "Remember", "must not have passed"),
        ("/facts", {"subject": " ", "predicate": "keeps", "object": "bees"}, "State it", "must not be empty"),
        ("/themes", {"display_name": "Bees", "slug": "No!"}, "Add", "must be 1 to 64 lower-case letters"),
        ("/tokens", {"name": " "}, "Make a token", "must be between 1 and 100 characters"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_on_a_phone(
    log_in: LogIn, reader: Any, at: str, given: dict[str, str], button: str, said: str
) -> None:
    page = log_in(reader, at=at)
    page.set_viewport_size({"width": 390, "height": 500})
    for name, value in given.items():
        page.locator(f"form[method=post] [name={name}]").fill(value)
    page.get_by_role("button", name=button, exact=True).click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(said)
    field = page.locator("[aria-invalid=true]")
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport()
    expect(alert).to_be_in_viewport(ratio=1)


# How far beneath the error that which has the focus begins.
BENEATH = """() => document.activeElement.getBoundingClientRect().top
    - document.querySelector("#flash").getBoundingClientRect().bottom"""


def test_an_error_is_seen_however_far_down_the_page(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/memories")
    page.set_viewport_size({"width": 390, "height": 300})
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.evaluate("document.dispatchEvent(new CustomEvent('htmx:sendError', {bubbles: true}))")
    assert page.evaluate("scrollY") > 300
    expect(page.get_by_text("The server does not answer.")).to_be_in_viewport(ratio=1)
    page.locator("main a, main button").last.focus()
    for _ in range(12):
        page.keyboard.press("Shift+Tab")
        assert page.evaluate(BENEATH) >= 0


def test_an_error_is_no_longer_said_once_it_is_over(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/memories")
    page.evaluate("document.dispatchEvent(new CustomEvent('htmx:sendError', {bubbles: true}))")
    expect(page.get_by_text("The server does not answer.")).to_be_visible()
    page.locator("article.entry").first.get_by_role("button", name="Pin").click()
    expect(page.get_by_text("The server does not answer.")).to_have_count(0)


def test_an_answer_that_was_lost_is_not_called_nothing(browser: Browser, address: str, reader: Any) -> None:
    with browser.new_context(base_url=address) as context:
        assert context.request.post("/login", form={"email": reader.email, "password": PASSWORD}).ok
        page = context.new_page()
        page.goto("/memories?q=bakery")
        # The server is stopped when the work is done, and not answered yet.
        page.route("**/pin", lambda route: (route.fetch(), route.abort()))
        page.get_by_role("button", name="Pin").click()
        expect(page.get_by_text("The server does not answer. Perhaps nothing was changed")).to_be_visible()
        page.reload()
        expect(page.get_by_role("button", name="Pinned")).to_be_visible()


def test_what_is_written_from_right_to_left_reads_so(log_in: LogIn, reader: Any) -> None:
    with user_session(reader.runtime.sessions, reader.id) as session:
        draft = Draft(text="הלחם נאפה ב-Mill Lane בכל בוקר.")
        remember(session, reader.id, "default", draft, keys=reader.runtime.keys, now=utc_now(), actor="test")
    page = log_in(reader, at="/memories?q=נאפה")
    expect(page.get_by_label("Words in them")).to_have_css("direction", "rtl")
    # The full stop stands at the end, which is on the left.
    ends = """(text) => {
        const [node, range] = [text.firstChild, document.createRange()];
        return [0, node.length - 1].map((at) => {
            range.setStart(node, at);
            range.setEnd(node, at + 1);
            return range.getBoundingClientRect().left;
        });
    }"""
    first, stop = page.locator(".entry-text .verbatim").evaluate(ends)
    assert first > stop
    # It begins on the right of its column.
    beside = """(text) => {
        const range = document.createRange();
        range.setStart(text.firstChild, 0);
        range.setEnd(text.firstChild, 1);
        return text.parentElement.getBoundingClientRect().right - range.getBoundingClientRect().right;
    }"""
    assert page.locator(".entry-text .verbatim").evaluate(beside) < 2
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_label("What is to be remembered")).to_have_css("direction", "rtl")


def test_a_name_that_is_written_from_right_to_left_does_not_mix_with_what_is_beside_it(
    log_in: LogIn, reader: Any
) -> None:
    name = "בית (ישן)!"
    with user_session(reader.runtime.sessions, reader.id) as session:
        create_token(session, reader.id, name, ["read"], now=utc_now())
        create_space(session, reader.id, "house", soft_cap=200, now=utc_now(), actor="test", name=name)
    # Where the name begins and ends, and what follows it.
    places = """(text, name) => {
        const range = document.createRange();
        const node = [...text.childNodes].find((each) => each.data?.includes(name));
        const start = node.data.indexOf(name);
        const behind = node.data.indexOf("100", start);
        return [start, start + name.length - 1, Math.max(start, behind)].map((at) => {
            range.setStart(node, at);
            range.setEnd(node, at + 1);
            return range.getBoundingClientRect().left;
        });
    }"""
    page = log_in(reader, at="/facts")
    page.get_by_label("Who or what").fill(name)
    expect(page.get_by_label("Who or what")).to_have_css("unicode-bidi", "plaintext")
    page.get_by_label("What of it").fill("is")
    page.get_by_label("Where, whom or what").fill("old")
    page.get_by_label("Space").first.select_option(label=name)
    page.get_by_role("button", name="State it").click()
    for at in ("/facts", "/tokens"):
        page.goto(at)
        first, last, behind = page.locator("main").get_by_text(name).last.evaluate(places, name)
        assert last < first <= behind, at


def test_who_archives_many_sees_that_it_goes_on(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/memories/bulk/ask?every=true&act=archive")
    yes = page.get_by_role("button", name="Archive 8 memories")
    with reader.session() as session:
        lock_spaces(session, reader.id)
        yes.click()
        expect(yes).to_be_disabled()
        expect(page.locator("main .busy")).to_have_css("opacity", "1")
    expect(page.get_by_role("heading", name="8 memories archived, out of search")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: 8 memories as before.")).to_be_visible()
    assert page.url.endswith("/memories")
