"""Read a data set of any kind, told apart by what is in the file."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from evals import golden, jsonl, locomo, persons
from evals.dataset import DataSet
from evals.locomo_set import to_data_set

FOLDER = Path(__file__).parent
# Notes and questions in many languages, on which nothing may be tuned either.
LANGUAGES = FOLDER / "languages.jsonl"
_HELD_OUT = re.compile(r"held[-_ ]?out|(?:^|[-_. ])test(?:[-_. ]|$)", re.IGNORECASE)


def load(path: Path) -> DataSet:
    """Return the data set of a golden, LoCoMo, JSONL or persons' file.

    Raises `ValueError` that says what is wrong, and where.
    """
    if path.suffix.lower() == ".txt":
        return persons.read(path)
    if path.suffix.lower() in {".jsonl", ".ndjson"}:
        return jsonl.read(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = json.loads(text)
    except json.JSONDecodeError as error:
        # A file of several objects, one a line, is JSONL and no JSON.
        if _begins_with_record(text):
            return jsonl.read(path)
        raise ValueError(f"{path}: not JSON: {error}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8: {error}") from None
    except RecursionError as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    return to_data_set(locomo.read(path), path.stem) if isinstance(data, list) else golden.read(path)


def _begins_with_record(text: str) -> bool:
    """Tell whether the first line that is not empty is an object by itself."""
    try:
        return isinstance(json.loads(text.strip().partition("\n")[0]), dict)
    except (json.JSONDecodeError, RecursionError):
        return False


def is_held_out(path: Path) -> bool:
    """Tell whether nothing may be tuned on a file: by its name, or as a copy of such a file of this repository.

    >>> [is_held_out(Path(name)) for name in ("held-out.json", "locomo_dev.json", "a-test.jsonl", "latest.jsonl")]
    [True, False, True, False]
    """
    if _HELD_OUT.search(path.name) is not None:
        return True
    ours = (LANGUAGES, *FOLDER.rglob("*held_out*.*"))
    return path.is_file() and _digest(path) in map(_digest, ours)


def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()
