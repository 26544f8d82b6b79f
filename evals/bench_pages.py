"""How long every page of the browser takes, and how large it is: found by following links, as a reader would."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from html.parser import HTMLParser
from statistics import median
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import httpx

from evals.stock import SPACE
from evals.tables import table
from evals.timing import Latency, latency, timed

BARE = "/healthz"
CELLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("recall", {"q": "What did Ada say?", "space": SPACE}),
    ("context", {"q": "What did Ben say?", "space": SPACE, "budget": "2000"}),
    *(
        ("chart", {"chart": name, "space": SPACE})
        for name in ("growth", "ages", "tags", "repeats", "backlog", "latency")
    ),
)
# What somebody types, of words that many memories have.
TYPED = ("really", "really like", "ada really lik")
ROUNDS = 20
WARM_UP = 2
MOST_PAGES = 200
NOT_PAGES = ("/static/", "/logout", "/v1/")
GOAL = 100.0  # milliseconds, of the 95th percentile
LARGEST = 60_000  # bytes of a page's own HTML
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=/)\d+(?=/|$)")


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its path with `*` for ids, the latency of its whole answer, its size in bytes before compression."""

    path: str
    latency: Latency
    size: int

    @property
    def met(self) -> bool:
        """Tell whether the page is as quick and as small as it should be."""
        return self.latency.p95 < GOAL and self.size <= LARGEST


@dataclass(frozen=True, slots=True)
class PagesBench:
    """The pages, the slowest first; `bare` is a request that reads nothing."""

    bare: Latency
    pages: tuple[Page, ...]

    @property
    def ratios(self) -> dict[str, float]:
        """Return the medians of the slowest page and of the median page, over that of a bare request."""
        medians = sorted(each.latency.p50 / self.bare.p50 for each in self.pages)
        return {"slowest page / bare": round(medians[-1], 2), "median page / bare": round(median(medians), 2)}


def bench_pages(
    base_url: str, email: str, password: str, *, on_progress: Callable[[int], None] = lambda _pages: None
) -> PagesBench:
    """Log in, find the pages, and ask for each `ROUNDS` times in turn; the slowest page comes first.

    Raises `RuntimeError` when the login fails or a page does, `httpx.HTTPError` when the server is away.
    """
    with httpx.Client(base_url=base_url, timeout=60) as client:
        entered = client.post("/login", data={"email": email, "password": password})
        if not entered.is_redirect:
            raise RuntimeError(f"the login was answered with {entered.status_code}")
        found = dict(_found(client, on_progress))
        found.update({f"/memories, typing {words!r}": f"/memories?{urlencode({'q': words})}" for words in TYPED})
        took: dict[str, list[float]] = {path: [] for path in found}
        cells = dict(_cells(client, found))
        took.update({name: [] for name in cells})
        bare = [timed(lambda: _read(client, BARE))[1] for _ in range(ROUNDS)]
        for number in range(WARM_UP + ROUNDS):
            for path, address in found.items():
                _, milliseconds = timed(lambda: _read(client, address))  # noqa: B023 - run at once
                if number >= WARM_UP:
                    took[path].append(milliseconds)
            for name, (address, form) in cells.items():
                _, milliseconds = timed(lambda: _run(client, address, form))  # noqa: B023 - run at once
                if number >= WARM_UP:
                    took[name].append(milliseconds)
            on_progress(len(found) + len(cells))
        pages = [Page(path, latency(took[path]), len(_read(client, address))) for path, address in found.items()]
        pages += [Page(name, latency(took[name]), len(_run(client, *each))) for name, each in cells.items()]
    return PagesBench(latency(bare), tuple(sorted(pages, key=lambda each: -each.latency.p95)))


def _found(client: httpx.Client, on_progress: Callable[[int], None]) -> Iterator[tuple[str, str]]:
    """Yield one address for every shape of path that links and fragments lead to, breadth first."""
    waiting, seen = ["/"], {"/"}
    while waiting:
        address = waiting.pop(0)
        response = client.get(address, follow_redirects=True)
        if not response.headers.get("Content-Type", "").startswith("text/html"):
            continue
        if response.is_error:
            raise RuntimeError(f"{address} was answered with {response.status_code}")
        on_progress(1)
        yield shape(address), address
        for link in _links(response.text, str(response.url)):
            if (path := shape(link)) not in seen and len(seen) < MOST_PAGES:
                seen.add(path)
                waiting.append(link)


def _cells(client: httpx.Client, found: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, dict[str, str]]]]:
    """Add one cell for each kind of work to a notebook; yield a name, where to run it and its form."""
    notebook = found["/notebooks/*"].partition("?")[0]
    for kind, form in CELLS:
        added = client.post(f"{notebook}/cells", params={"kind": kind})
        if not added.is_redirect:
            raise RuntimeError(f"a cell was answered with {added.status_code}")
        cell_id = parse_qs(urlsplit(added.headers["Location"]).query)["at"][0]
        yield f"run a cell: {form.get('chart', kind)}", (f"{notebook}/cells/{cell_id}/run", form)


def shape(address: str) -> str:
    """Return the path of an address with `*` for every id, and the names of what follows the question mark.

    >>> shape("/spaces/7/settings?page=2")
    '/spaces/*/settings?page'
    """
    parts = urlsplit(address)
    names = sorted({each.partition("=")[0] for each in parts.query.split("&") if each})
    return _ID.sub("*", parts.path) + (f"?{'&'.join(names)}" if names else "")


class _Addresses(HTMLParser):
    """Collects what a page links to or loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses of links and of what htmx gets."""
        given = dict(attrs)
        for name in ("href",) if tag == "a" else ():
            self.found.append(given.get(name) or "")
        self.found.append(given.get("hx-get") or "")


def _links(page: str, base: str) -> Iterator[str]:
    parser = _Addresses()
    parser.feed(page)
    for each in parser.found:
        parts = urlsplit(urljoin(base, each))
        if each and parts.netloc == urlsplit(base).netloc and not parts.path.startswith(NOT_PAGES):
            yield parts.path + (f"?{parts.query}" if parts.query else "")


def _read(client: httpx.Client, address: str) -> bytes:
    response = client.get(address, follow_redirects=True)
    if response.is_error:
        raise RuntimeError(f"{address} was answered with {response.status_code}")
    return response.content


def _run(client: httpx.Client, address: str, form: Mapping[str, str]) -> bytes:
    """Run a cell as the page does: what comes back is that cell."""
    response = client.post(address, data=dict(form), headers={"HX-Request": "true"})
    if response.is_error:
        raise RuntimeError(f"{address} was answered with {response.status_code}")
    return response.content


def to_dict(bench: PagesBench) -> dict[str, Any]:
    """Return the measurements in values that JSON can carry."""
    pages = [{**asdict(each), "met": each.met} for each in bench.pages]
    return {"goals_met": all(each.met for each in bench.pages), "bare": asdict(bench.bare), "pages": pages}


def to_text(bench: PagesBench) -> str:
    """Return the measurements as a table, the slowest page first."""
    rows: list[tuple[str, float, float, int | None, str]] = [
        (each.path, each.latency.p50, each.latency.p95, each.size, "met" if each.met else "MISSED")
        for each in bench.pages
    ]
    rows.append(("bare request", bench.bare.p50, bench.bare.p95, None, ""))
    header = ("milliseconds", "p50", "p95", "bytes", f"< {GOAL:g} ms, <= {LARGEST} bytes")
    return f"{len(bench.pages)} pages, each asked for {ROUNDS} times\n\n{table(header, rows, digits=1)}"
