"""A group of commands that are imported only when they are asked for."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import click


class Lazy(NamedTuple):
    """Where a command is, as `module:name`, and what the list of commands says of it."""

    place: str
    help: str


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage in what is made here, now or ever: it is there to stay.

    An import makes hundreds of thousands of objects; to go through them again and again takes a fifth of its time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class LazyGroup(click.Group):
    """Knows its commands by name and place: most need little of what the others need, and a start should not wait."""

    def __init__(self, *args: Any, lazy: Mapping[str, Lazy], **options: Any) -> None:
        super().__init__(*args, **options)
        self.lazy = dict(lazy)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*super().list_commands(ctx), *self.lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, importing its module; None if there is no such command."""
        if (found := super().get_command(ctx, cmd_name)) is None and cmd_name in self.lazy:
            module, _, name = self.lazy[cmd_name].place.partition(":")
            with uncollected():
                found = getattr(import_module(module), name)
            self.add_command(found, cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.lazy[name].help) for name in self.list_commands(ctx)])
