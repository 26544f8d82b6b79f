"""What the database's planner keeps of what people wrote: samples, which shall not outlive what they are of."""

from __future__ import annotations

from sqlalchemy import Engine, text

# Where rows are found by a tag, a source or a word, plans need samples of these. Of other texts none are taken.
SAMPLED = ("memories", "postings", "episode_postings", "entity_postings")
# What is purged while a sample is taken may be in it and be counted as before it, so that none grows older than a day.
# Where nothing is known of the last one, as after a crash, it may be of any age.
_OUTDATED = text("""
    SELECT relname FROM pg_stat_user_tables
    WHERE schemaname = 'public' AND relname = ANY(:tables)
      AND (n_mod_since_analyze > 0
        OR coalesce(greatest(last_analyze, last_autoanalyze), '-infinity') < now() - interval '1 day')
    ORDER BY relname
""")
# Of an empty table ANALYZE takes no samples, and leaves the last ones; where autovacuum has come by, none is outdated.
_CLEARED = """
    SELECT pg_clear_attribute_stats(schemaname, tablename, attname, inherited) FROM pg_stats
    WHERE schemaname = 'public' AND tablename = '{table}' AND NOT EXISTS (SELECT FROM {table})
"""


def sample_anew(owner: Engine) -> list[str]:
    """Take new samples of the tables that changed since the last, so that what was purged is in none of them.

    A table whose last samples are older than a day is sampled too.

    Returns the names of these tables; one that is being vacuumed is left to the next time. Needs the owner's
    connection. It takes as long for a large table as for a middling one: at most 30,000 of its rows are read.
    """
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        outdated = connection.scalars(_OUTDATED, {"tables": list(SAMPLED)}).all()
        for table in outdated:
            connection.exec_driver_sql(f"ANALYZE (SKIP_LOCKED) {table}")
        for table in SAMPLED:
            connection.exec_driver_sql(_CLEARED.format(table=table))
    return list(outdated)
