"""Conversations: opened, moved, listed, read, and where they stand."""
