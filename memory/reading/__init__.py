"""Memories as they are read: in order, by words that are still being typed, or a space in a few lines."""
