"""Forgetting and undoing it, and removing for good what was forgotten."""
