"""Facts read out of conversations by a language model, where one is set and a space wants it."""
