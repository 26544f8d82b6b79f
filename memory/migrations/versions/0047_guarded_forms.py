"""The form of words in the index, made as fast for a text with one accent as what has to change in it allows."""

from importlib import import_module

from alembic import op

from memory.texts.scripts import PILE

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

BEFORE = str(import_module("memory.migrations.versions.0046_piled_marks").ONE_FORM)
_WIDE = import_module("memory.migrations.versions.0021_one_form")
_LETTERS = import_module("memory.migrations.versions.0045_letters")
# The first step, which stays: what stands for other letters becomes these.
_SHAPED = BEFORE[BEFORE.index("    FROM (") : BEFORE.rindex(") ELSE p_text END")]


def _translated(said: str, signs: str, becomes: str) -> str:
    """Return `translate` of a column, which compares each character of a text with each sign, where it has one."""
    return f"CASE WHEN {said} ~ '[{signs}]' THEN translate({said}, '{signs}', '{becomes}') ELSE {said} END"


# What it returns is the same: nothing is indexed anew. Each step is a table, or it would be taken again wherever the
# next one names it.
ONE_FORM = f"""
CREATE OR REPLACE FUNCTION one_form(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) > char_length(p_text) THEN (
    SELECT replace(regexp_replace(regexp_replace(
        {_translated("d.said", _LETTERS.LETTERS, _LETTERS.PLAIN)},
        '[{_LETTERS.GONE}]', '', 'g'), '{_LETTERS.JOINER}', '', 'g'), U&'i\\0307', 'i')
{_SHAPED}    CROSS JOIN LATERAL (SELECT regexp_replace(s.said, '{PILE.pattern}', '\\1', 'g') AS said OFFSET 0) p
    CROSS JOIN LATERAL (SELECT normalize({_translated("p.said", _WIDE.WIDE, _LETTERS.WIDE)}, NFC) AS said OFFSET 0) n
    CROSS JOIN LATERAL (
        SELECT {_translated("n.said", _LETTERS.DIGITS, "0123456789" * len(_LETTERS.ZEROS))} AS said OFFSET 0
    ) d
) ELSE p_text END
"""


def upgrade() -> None:
    op.execute(ONE_FORM)


def downgrade() -> None:
    op.execute(BEFORE)
