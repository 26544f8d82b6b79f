"""How much of a ranking is shown, and as what."""
