"""The record of events and calls: written, asked, and proved to be unchanged."""
