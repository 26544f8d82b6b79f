"""What a memory said before, which wordings it has taken in, what it replaced, and what it sums up."""
