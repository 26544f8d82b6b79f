"""Texts as such: their forms, fingerprints, scripts and marks, and where one stands in another."""
