"""Plain text tables, aligned: the first column to the left, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence

Cell = str | int | float | None


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]], *, digits: int = 3) -> str:
    """Return the lines of a table; floats get `digits` decimals, None is a dash."""
    cells = [list(header), *([_shown(cell, digits) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [_line(row, widths) for row in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _shown(cell: Cell, digits: int) -> str:
    if cell is None:
        return "-"
    return f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([first, *others])
