"""Days and times: those that a question asks for, and those that a text tells."""
