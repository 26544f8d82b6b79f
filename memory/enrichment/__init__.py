"""What a text is about: names, key phrases and tags, found by the worker after it was stored."""
