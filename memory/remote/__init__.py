"""Asking others: a language model, any endpoint, Redis; what they answer, and when they are left alone."""
