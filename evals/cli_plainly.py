"""A group of commands that says why it could not measure."""

from __future__ import annotations

from typing import Any

import click

from evals.errors import MeasureError


class Plainly(click.Group):
    """Says what stopped a measurement in one line instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except MeasureError as error:
            raise click.ClickException(str(error)) from error
