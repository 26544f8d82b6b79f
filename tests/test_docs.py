"""What the README lists is what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import config
from retrieval.policy import NAMED
from webapp.cli.main import COMMANDS, main

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
VARIABLE = re.compile(r"\b(?:COMMONPLACE_[A-Z_]+|DATABASE_URL|REDIS_URL)\b")


def test_the_readme_lists_every_setting_and_no_other():
    read = set(VARIABLE.findall((ROOT / "config" / "settings.py").read_text()))
    listed = set(re.findall(r"^\| `([A-Z_]+)` \|", README, re.MULTILINE))
    assert listed == read


def test_every_variable_that_is_read_anywhere_is_one_that_doctor_knows():
    written = set()
    for folder in ("config", "memory", "retrieval", "tasks", "webapp", "templates", "evals", "integrations", "tests"):
        for path in (*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.html")):
            written.update(VARIABLE.findall(path.read_text()))
    assert {each for each in written if not each.endswith("_")} | set(VARIABLE.findall(README)) == config.names()


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_readme_lists_every_command(command):
    assert f"`commonplace {command}" in README or f"`{command} " in README


def test_the_readme_tells_the_default_threshold():
    assert f"| `COMMONPLACE_MIN_SCORE` | `{NAMED['balanced'].min_score:g}` |" in README


@pytest.mark.parametrize("target", ["up", "test", "install", "check", "format", "help"])
def test_the_makefile_has_the_targets_that_are_promised(target):
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_link_of_the_readme_leads_somewhere():
    links = re.findall(r"\]\((?!http)([^)]+)\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_no_module_reads_the_environment_but_settings_and_the_queue():
    readers = {
        str(path.relative_to(ROOT))
        for package in ("config", "memory", "retrieval", "tasks", "webapp")
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"os\.environ\b(?!\.setdefault)|os\.getenv", path.read_text())
    }
    assert readers <= {"config/settings.py", "tasks/app.py"}


def test_importing_the_arithmetic_needs_no_database():
    code = "import retrieval.ranking.mmr, retrieval.ranking.scoring, sys; sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


DOCS = {path.name: path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
COMMAND = re.compile(r"(?:\bcommonplace (?=[a-z])|^(?=(?:eval|bench)\s))(.*)", re.DOTALL)


def anchors(text: str) -> set[str]:
    """What a link into a page can lead to: its headings as GitHub calls them, and what has a name of its own."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    named = re.findall(r'<a id="([^"]+)">', text)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings} | set(named)


@pytest.mark.parametrize("name", DOCS)
def test_every_link_between_the_pages_leads_to_a_heading(name: str) -> None:
    links = re.findall(r"\]\(([a-z_./]*\.md)?(?:#([\w-]+))?\)", DOCS[name])
    assert [
        f"{page}#{anchor}"
        for page, anchor in links
        if (there := Path(page or name).name) not in DOCS or (anchor and anchor not in anchors(DOCS[there]))
    ] == []


# Packages of the domain that its page names as a whole, and not module by module.
WHOLE = {"commands", "embedding", "enrichment", "extraction", "migrations", "models", "notebooks"}


@pytest.mark.parametrize(("page", "package"), [("search.md", "retrieval"), ("memory.md", "memory")])
def test_the_page_about_a_package_has_every_module_of_it(page: str, package: str) -> None:
    root = ROOT / package
    modules = {path for path in root.rglob("*") if path.suffix in {".py", ".npz"} and path.name != "__init__.py"}
    named = set(modules_in(DOCS[page], root))
    assert {path for path in named if not path.exists()} == set()
    assert {path for path in modules - named if path.relative_to(root).parts[0] not in WHOLE} == set()
    packages = {path.parent.name for path in root.glob("*/__init__.py")}
    assert {each for each in packages if f"`{each}/`" not in DOCS[page]} == set()


def modules_in(text: str, root: Path) -> Iterator[Path]:
    """Yield the modules that a page names; what stands after the name of a package is in that one, if it is there."""
    for block in re.split(r"\n(?=- |\d+\. |\n)", text):
        home = found[1] if (found := re.match(r"- \*\*`(\w+)/`", block)) else ""
        for name in re.findall(r"`([\w/]+\.(?:py|npz))`", block):
            places = (root / home / name, root / name, ROOT / name)
            yield next((path for path in places if path.exists()), root / name)


def test_the_page_of_decisions_begins_with_a_list_of_them() -> None:
    listed, *_ = DOCS["decisions.md"].partition("\n## ")
    decisions = re.findall(r"^## (.+)$", DOCS["decisions.md"], re.MULTILINE)
    assert sorted(re.findall(r"\[(.+?)\]\(#", listed)) == sorted(decisions)


def lines_of_commands(text: str) -> Iterator[str]:
    """Yield what stands in backticks and in the lines of blocks, from the name of a command on."""
    for number, part in enumerate(re.split(r"^```.*$", text, flags=re.MULTILINE)):
        code = part.splitlines() if number % 2 else re.findall(r"`([^`]+)`", part)
        for each in code:
            if found := COMMAND.search(each.partition(" #")[0]):
                yield " ".join(found[1].split())


def unknown_in(line: str) -> list[str]:
    """Return what a line has that is no command and no option of one."""
    command: click.Command = main
    words = line.split()
    while words and isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            return [words[0]]
        command, words = found, words[1:]
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    return [each for each in OPTION.findall(" ".join(words)) if each not in {*known, "--help"}]


@pytest.mark.parametrize("name", DOCS)
def test_every_command_that_a_page_names_is_there_with_its_options(name: str) -> None:
    assert [(line, wrong) for line in lines_of_commands(DOCS[name]) if (wrong := unknown_in(line))] == []


@pytest.mark.parametrize("unit", sorted((ROOT / "deploy").glob("*.service")), ids=lambda unit: unit.stem)
def test_a_unit_starts_a_command_that_is_there_with_its_options(unit: Path) -> None:
    (started,) = re.findall(r"^ExecStart=/opt/commonplace/.venv/bin/commonplace (.+)$", unit.read_text(), re.MULTILINE)
    assert unknown_in(started) == []
