"""Commands in plain words: what a sentence asks of the memory, and the slips that confirm or undo it."""
