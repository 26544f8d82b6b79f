"""Spaces: their settings, themes and soft cap, incognito, what they share, and what a recall may see."""
