"""Credentials in texts: told to their owner, and kept from every endpoint that texts are sent to.

Only what cannot well be anything else counts, by the forms that those who issue them give them. A password in plain
words is a sentence like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

HIDDEN = "[credential]"


@dataclass(frozen=True)
class _Form:
    """What is called `kind`. Each has one of the `marks` in it: by these most texts are known to have none.

    No pattern begins with a repetition, so that the time they take grows with the length of a text alone.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.DOTALL)


_SIGN = r"[\w.~+/-]"
_FORMS = (
    _Form(
        "private key",
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----).)*(?:-----END [A-Z ]{0,30}-----)?",
    ),
    _Form("AWS key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"),
    _Form(
        "GitHub token",
        ("gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_"),
        r"\b(?:gh[oprsu]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255})\b",
    ),
    _Form("GitLab token", ("glpat-",), r"\bglpat-[\w-]{20,}"),
    _Form("Slack token", ("xox",), r"\bxox[abeoprs]-[\w-]{10,}"),
    _Form("Google key", ("AIza",), r"\bAIza[\w-]{35}"),
    _Form("Stripe key", ("k_live_", "k_test_"), r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    # Of OpenAI, Anthropic and those who follow them.
    _Form("API key", ("sk-",), r"\bsk-(?=[\w-]{0,60}\d)[\w-]{20,}"),
    _Form("Hugging Face token", ("hf_",), r"\bhf_[A-Za-z]{30,}\b"),
    _Form("npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    _Form("PyPI token", ("pypi-AgE",), r"\bpypi-AgE[\w-]{50,}"),
    _Form("Commonplace token", ("cp_",), r"\bcp_[\w-]{43}(?![\w-])"),
    _Form("JSON Web Token", ("eyJ",), r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    # Random, as no word has both a digit and a capital in it.
    _Form(
        "bearer token",
        ("earer ",),
        rf"\b[Bb]earer (?:[0-9a-f]{{32,}}|(?={_SIGN}{{0,60}}\d)(?={_SIGN}{{0,60}}[A-Z]){_SIGN}{{20,}}=*)",
    ),
    # The name that goes with the password is no less of a secret.
    _Form("password in an address", ("://",), r"(?<=://)[^\s:/@]{1,64}:[^\s/@]{3,}(?=@)"),
)


# What finds a mark in a text, to PostgreSQL as well: a text without any holds no credential.
MARKED = "|".join(re.escape(mark) for form in _FORMS for mark in form.marks)


def credentials_in(text: str) -> tuple[str, ...]:
    """Return what kinds of credentials a text seems to hold.

    >>> credentials_in("CI pushes with ghp_16C7e42F292c6912E7710c838347Ae178B4a")
    ('GitHub token',)
    >>> credentials_in("The Wi-Fi password is tulip-42")
    ()
    """
    return tuple(form.kind for form in _possible(text) if form.compiled.search(text))


def without_credentials(text: str) -> str:
    """Return the text with each credential hidden.

    >>> without_credentials("The database is postgres://robin:hunter2@db/shop")
    'The database is postgres://[credential]@db/shop'
    """
    for form in _possible(text):
        text = form.compiled.sub(HIDDEN, text)
    return text


def _possible(text: str) -> Iterator[_Form]:
    return (form for form in _FORMS if any(mark in text for mark in form.marks))
