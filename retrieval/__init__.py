"""Everything that ranks memories.

Candidate SQL, BM25, fusion, tri-score, MMR, token budget and context assembly. Imports `memory` at most; knows
no Flask, no queue and no settings. The arithmetic modules (`types`, `policy`, `fusion`, `scoring`, `mmr`,
`dates`, `asked_days`, `asked_period`, `asked_beside`, `metrics`) import the standard library and numpy only.
"""
