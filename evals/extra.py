"""What only the extra `eval` brings."""

from __future__ import annotations

from importlib.util import find_spec

import click


def needs(*packages: str) -> None:
    """End the command with how to install them where packages are missing."""
    if missing := [each for each in packages if find_spec(each) is None]:
        raise click.ClickException(
            f"this needs {' and '.join(missing)}: .venv/bin/pip install -c constraints.txt -e '.[eval]'"
        )
