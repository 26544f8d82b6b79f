"""Every template compiles, and every fragment has one root that is named for its file."""

from __future__ import annotations

import re
from http import HTTPStatus
from pathlib import Path

import pytest
from flask import Flask, render_template

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted(path.relative_to(ROOT / "templates").as_posix() for path in (ROOT / "templates").rglob("*.html"))
FRAGMENTS = [name for name in TEMPLATES if name.rpartition("/")[2].startswith("_")]
VOID = {"input", "meta", "link", "br", "hr", "img"}
_JINJA = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_compiles(app: Flask, name: str) -> None:
    assert app.jinja_env.get_template(name)


@pytest.mark.parametrize("name", FRAGMENTS)
def test_a_fragment_has_a_root_named_for_its_path(name: str) -> None:
    source = (ROOT / "templates" / name).read_text()
    expected = name.removesuffix(".html").replace("/_", "-").lstrip("_")
    root = re.search(r"<\w+(?:[^>\"]|\"[^\"]*\")*>", re.sub(r"\{%.*?%\}", "", source, flags=re.DOTALL))
    assert root is not None
    assert re.search(rf'\bid="{re.escape(expected)}(?:-\{{\{{[^}}]*\}}\}})?"', root.group())


@pytest.mark.parametrize("name", FRAGMENTS)
def test_a_fragment_has_one_root(name: str) -> None:
    source = _JINJA.sub("", (ROOT / "templates" / name).read_text())
    depth = roots = 0
    for closing, tag, end in re.findall(r"<(/?)(\w+)(?:[^>\"]|\"[^\"]*\")*?(/?)>", source):
        if closing:
            depth -= 1
        elif tag not in VOID and not end:
            roots += depth == 0
            depth += 1
    assert (roots, depth) == (1, 0)


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_template_has_inline_script_or_style(name: str) -> None:
    source = (ROOT / "templates" / name).read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\bsrc=)", source)


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_template_asks_another_host(name: str) -> None:
    assert not re.search(r"(?:src|href|action|hx-\w+)=\"(?:https?:)?//", (ROOT / "templates" / name).read_text())


def test_no_attribute_runs_into_the_next() -> None:
    # The line ends with the block that ends it, so that a blank before that has to part two attributes.
    glued = re.compile(r'[^\n]*(?:"|%\}[a-z-]+)\{%[^%]*%\}\n(?=[^<>]*>)')
    assert not [found for name in TEMPLATES for found in glued.findall((ROOT / "templates" / name).read_text())]


# Nobody's own: who logs in, whoever is logged in, and the colours of a browser.
OF_NOBODY = {"auth.check", "auth.logout", "appearance.choose"}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_form_that_fits_into_any_account_says_whose_page_it_is_on(app: Flask, name: str) -> None:
    # What an admin does to a user, any other admin can do.
    of_somebody = {
        each.endpoint for each in app.url_map.iter_rules() if re.match("(?!.*<uuid:user_id>).*<uuid:", each.rule)
    }
    for form in re.findall(r"<form\b.*?</form>", (ROOT / "templates" / name).read_text(), re.DOTALL):
        address = re.search(r'\saction="([^"]*)"', form)
        asked = re.findall(r"'(\w+\.\w+)'", address.group(1)) if address and 'method="post"' in form else []
        assert set(asked) <= of_somebody | OF_NOBODY or "{{ whose(visitor) }}" in form, asked


def test_own_scripts_stay_small() -> None:
    assert sum(path.stat().st_size for path in (ROOT / "static").glob("*.js")) < 10_000


@pytest.mark.parametrize("status", [status for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_error_is_headed_in_plain_words(app, status, method):
    with app.test_request_context(method=method):
        page = render_template("errors/_error.html", status=status, detail="the loom is away", request_id="1")
    heading = " ".join(page.partition("<h1>")[2].partition("</h1>")[0].split())
    assert heading not in {"", status.phrase}


@pytest.mark.parametrize("sheet", sorted((ROOT / "static").glob("*.css")), ids=lambda each: each.name)
def test_letters_are_as_large_as_the_browser_is_set_to(sheet: Path) -> None:
    assert not re.search(r"font(-size)?:[^;}]*\dpx", sheet.read_text())
