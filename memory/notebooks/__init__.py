"""Notebooks and their cells: kept, ordered, removed with an undo, and blanked when a memory is forgotten."""
