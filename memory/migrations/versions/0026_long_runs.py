"""Texts of which the parser of words would read the rest again and again."""

from importlib import import_module

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

# Characters without a blank between them that are read as one; the pattern repeats no more often.
LONGEST = 255
# At each of these the parser takes what follows for a host, a path or a comment, reads to its end, and goes back where
# it was none: a note of 64 KiB of them takes minutes, a longer text hours, and whoever writes to the space waits. A run
# is cut where it is longer than any name or address that is looked for. An opening of a comment behind the last end of
# one opens none; with a blank in it, it is not tried.
# `OFFSET 0` keeps the planner from working out a text once for each place that it is used in.
PARSABLE = rf"""
CREATE FUNCTION parsable(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT left(o.said, length(o.said) - o.behind) || replace(right(o.said, o.behind), '<!--', '<! --')
    FROM (
        SELECT c.said, coalesce(nullif(strpos(reverse(c.said), '>--'), 0) - 1, length(c.said)) AS behind
        FROM (
            SELECT CASE WHEN p_text ~ '[_~]|\./|/\.' THEN regexp_replace(p_text, '(\S{{{LONGEST}}})', '\1 ', 'g')
                   ELSE p_text END AS said OFFSET 0
        ) c OFFSET 0
    ) o
)
"""  # noqa: S608 - put together from what is written here alone
MAY_NOT_BE = rf"length({{0}}) > {LONGEST} AND ({{0}} ~ '\S{{{{{LONGEST}}}}}' OR strpos({{0}}, '<!--') > 0)"
BEFORE = str(import_module("memory.migrations.versions.0021_one_form").NOW)
ONE_FORM = "(SELECT one_form(p_text) AS said) t"
NOW = BEFORE.replace(
    ONE_FORM,
    f"(SELECT CASE WHEN {MAY_NOT_BE.format('f.said')} THEN parsable(f.said) ELSE f.said END AS said "  # noqa: S608
    "FROM (SELECT one_form(p_text) AS said OFFSET 0) f OFFSET 0) t",
)
# What is set to what it is is indexed anew, with its postings and what is counted of them.
ANEW = {"memories": "text", "episodes": "searched", "entities": "notes"}


def upgrade() -> None:
    op.execute(PARSABLE)
    op.execute(NOW)
    _index()


def downgrade() -> None:
    op.execute(BEFORE)
    _index()
    op.execute("DROP FUNCTION parsable(text)")


def _index() -> None:
    for table, column in ANEW.items():
        found = f"{MAY_NOT_BE.format(column)} AND parsable({column}) <> {column}"
        op.execute(f"UPDATE {table} SET {column} = {column} WHERE {found}")  # noqa: S608
