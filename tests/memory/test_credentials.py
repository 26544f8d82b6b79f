"""What is known as a credential, and what is not."""

from __future__ import annotations

import time
from typing import Any

import pytest

from memory.remote.credentials import MARKED, credentials_in, without_credentials

LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6kL9nP2rS5"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\nAAAABG5vbmUAAAAE\n-----END OPENSSH PRIVATE KEY-----"
KNOWN = [
    (KEY, "private key"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEvQ", "private key"),
    ("AKIAIOSFODNN7EXAMPLE", "AWS key"),
    (f"ghp_{LETTERS[:36]}", "GitHub token"),
    (f"github_pat_{LETTERS}", "GitHub token"),
    (f"glpat-{LETTERS[:20]}", "GitLab token"),
    (f"xoxb-1234567890-{LETTERS[:24]}", "Slack token"),
    (f"AIza{LETTERS[:35]}", "Google key"),
    (f"sk_live_{LETTERS[:24]}", "Stripe key"),
    (f"sk-proj-{LETTERS}", "API key"),
    (f"sk-ant-api03-{LETTERS}", "API key"),
    ("hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh", "Hugging Face token"),
    (f"npm_{LETTERS[:36]}", "npm token"),
    (f"pypi-AgEIcHlwaS5vcmc{LETTERS}", "PyPI token"),
    (f"cp_{LETTERS[:43]}", "Commonplace token"),
    (f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{LETTERS}", "JSON Web Token"),
    (f"Bearer {LETTERS}", "bearer token"),
    ("bearer 9e107d9d372bb6826bd81d3542a419d6", "bearer token"),
]
INNOCENT = [
    "The Wi-Fi password is tulip-42.",
    "She is the bearer of good news, 2024 of them.",
    "bearer responsibilities-and-duties-of-2024",
    "The task-scheduler-of-the-year-2024 is sk-learn-for-everybody-who-learns.",
    "See https://example.org:8443/docs and write to robin@example.org.",
    "Git ssh://git@example.org/shop.git",
    "AKIA is how a key of Amazon begins, and ghp_ one of GitHub.",
    "The public one begins with -----BEGIN PUBLIC KEY-----",
    "Commit 9e107d9d372bb6826bd81d3542a419d6 broke it.",
    "The file is cp_of_the_letter_to_the_landlord_about_the_new_boiler_2024.md",
]


@pytest.mark.parametrize(("secret", "kind"), KNOWN, ids=[f"{n}-{kind}" for n, (_, kind) in enumerate(KNOWN)])
def test_what_somebody_issued_is_known_by_its_form(secret: str, kind: str) -> None:
    said = f"CI uses {secret}, as ever"
    assert credentials_in(said) == (kind,)
    assert secret not in without_credentials(said)
    assert without_credentials(said).startswith("CI uses [credential]")


def test_what_stands_around_it_stays() -> None:
    assert without_credentials(f"First {KEY} then more.") == "First [credential] then more."
    said = "The database is postgres://robin:hunter2@db:5432/shop, on disk."
    assert without_credentials(said) == "The database is postgres://[credential]@db:5432/shop, on disk."
    assert credentials_in(said) == ("password in an address",)


def test_all_of_a_text_are_known() -> None:
    said = f"AKIAIOSFODNN7EXAMPLE and ghp_{LETTERS[:36]} and ghp_{LETTERS[1:37]}"
    assert credentials_in(said) == ("AWS key", "GitHub token")
    assert without_credentials(said) == "[credential] and [credential] and [credential]"


def test_the_database_leaves_none_out_by_its_marks(book: Any) -> None:
    values = ", ".join(f"(:v{number})" for number in range(len(KNOWN)))
    given = {f"v{number}": f"CI uses {secret}" for number, (secret, _) in enumerate(KNOWN)}
    assert book.all(f"SELECT v FROM (VALUES {values}) x(v) WHERE NOT v ~ :marked", marked=MARKED, **given) == []
    assert book.all("SELECT 'The light is bright enough' ~ :marked", marked=MARKED) == [False]


@pytest.mark.parametrize("said", INNOCENT)
def test_what_may_be_anything_else_is_none(said: str) -> None:
    assert credentials_in(said) == ()
    assert without_credentials(said) == said


@pytest.mark.parametrize(
    "part", ["sk-", "bearer ", "://a:", "eyJaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----a", "cp_", "xoxb-", "ghp_"]
)
def test_the_time_grows_with_the_length_alone(part: str) -> None:
    def seconds(times: int) -> float:
        started = time.thread_time()
        credentials_in(part * times)
        without_credentials(part * times)
        return time.thread_time() - started

    seconds(10)
    short = min(seconds(2_000) for _ in range(3))
    assert min(seconds(32_000) for _ in range(3)) < 16 * 4 * short + 0.05
