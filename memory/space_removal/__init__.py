"""Removing a space, or making one memory of two, with all that is inside."""
