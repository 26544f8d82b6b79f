"""Other memory systems, asked the same questions about the same memories.

Each runs in an environment of its own, and in a process of its own that `adapters/serve.py` speaks for.
"""
