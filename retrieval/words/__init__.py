"""Words: what a question is about and what kind of answer it wants, and how texts write things."""
