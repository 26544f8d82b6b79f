"""The domain: models, migrations and everything that writes.

Persist, pin, forget, supersede, capacity, embeddings, accounts and audit. Knows no Flask, no queue, no settings
and nothing of `retrieval`.
"""
