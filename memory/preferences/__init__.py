"""The user's document of preferences, and its versions."""
