"""Words in the index as people ask for them: whatever digits, shape and vowels they were written with."""

from importlib import import_module

import sqlalchemy as sa
from alembic import op

from memory.texts.fingerprints import normalise, simhash64, to_signed
from memory.texts.scripts import MARKS

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

_BEFORE = import_module("memory.migrations.versions.0021_one_form")
# Letters in another shape: ligatures, those of Arabic and Hebrew as old documents have them, of mathematics, Roman
# numerals, and figures below the line. Each by itself becomes what it stands for.
SHAPED = (
    "\u2080-\u2089\u2102\u210a-\u2113\u2115\u2119-\u211d\u2124\u2128\u212c\u212d\u212f-\u2131\u2133\u2134\u2160-\u217f"
    "\ufb00-\ufb06\ufb13-\ufb17\ufb20-\ufb28\ufb4f-\ufbb1\ufbd3-\ufc5d\ufc64-\ufd3d\ufd50-\ufdfb\ufe80-\ufefc"
    "\U0001d400-\U0001d7ff"
)
ZEROS = (
    "\u0660\u06f0\u07c0\u0966\u09e6\u0a66\u0ae6\u0b66\u0be6\u0c66\u0ce6\u0d66\u0de6"
    "\u0e50\u0ed0\u0f20\u1040\u1090\u17e0\u1810"
)
DIGITS = "".join(chr(ord(zero) + digit) for zero in ZEROS for digit in range(10))
# What divides numbers of Arabic digits, the capital of the Turkish i, and letters that people write for each other.
LETTERS = (
    "\u066b\u066c\u0130\u0622\u0623\u0625\u0671\u0649\u06cc\u06a9\u0629\u06c0\u06c1\u06d5\u0401\u0451\u03c2"
    "\u0386\u0388\u0389\u038a\u038c\u038e\u038f\u03aa\u03ab\u03ac\u03ad\u03ae\u03af\u03cc\u03cd\u03ce\u03ca\u03cb\u0390\u03b0"
)
PLAIN = (
    ".,I\u0627\u0627\u0627\u0627\u064a\u064a\u0643\u0647\u0647\u0647\u0647\u0415\u0435\u03c3"
    "\u0391\u0395\u0397\u0399\u039f\u03a5\u03a9\u0399\u03a5\u03b1\u03b5\u03b7\u03b9\u03bf\u03c5\u03c9\u03b9\u03c5\u03b9\u03c5"
)
# What is not seen between letters; the vowels of Hebrew and Arabic, which hardly anybody writes; the dot of Hindi.
GONE = "".join(
    chr(point)
    for first, last in (
        (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x200B, 0x200C), (0x200E, 0x200F), (0x202A, 0x202E),
        (0x2060, 0x2064), (0x2066, 0x206F), (0xFEFF, 0xFEFF), (0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2),
        (0x05C4, 0x05C5), (0x05C7, 0x05C7), (0x0610, 0x061A), (0x0640, 0x0640), (0x064B, 0x065F), (0x0670, 0x0670),
        (0x06D6, 0x06DC), (0x06DF, 0x06E4), (0x06E7, 0x06E8), (0x06EA, 0x06ED), (0xFC5E, 0xFC63), (0xFE70, 0xFE7F),
        (0x093C, 0x093C),
    )
    for point in range(first, last + 1)
)  # fmt: skip
# Joins letters, and pictures to one.
JOINER = "\u200d(?![\u2190-\u2bff\U0001f000-\U0001faff])"
WIDE = _BEFORE.PLAIN.replace("'", "''")
ONE_FORM = f"""
CREATE OR REPLACE FUNCTION one_form(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) > char_length(p_text) THEN (
    SELECT replace(regexp_replace(
        translate(normalize(translate(s.said, '{_BEFORE.WIDE}', '{WIDE}'), NFC),
            '{DIGITS}{LETTERS}{GONE}', '{"0123456789" * len(ZEROS)}{PLAIN}'),
        '{JOINER}', '', 'g'), U&'i\\0307', 'i')
    FROM (
        SELECT CASE WHEN p_text ~ '[{SHAPED}]' THEN (
            SELECT string_agg(CASE WHEN c.sign ~ '[{SHAPED}]' THEN normalize(c.sign, NFKC) ELSE c.sign END,
                '' ORDER BY c.place)
            FROM string_to_table(p_text, NULL) WITH ORDINALITY AS c(sign, place)
        ) ELSE p_text END AS said OFFSET 0
    ) s
) ELSE p_text END
"""  # noqa: S608 - put together from what is written here alone
CHANGED = f"[{SHAPED}{DIGITS}{LETTERS}{GONE}\u200d]|i\u0307"
# What is set to what it is is indexed anew, with its postings and what is counted of them.
ANEW = {
    "memories": ("text", "text || ' ' || tags_text(tags)"),
    "episodes": ("searched", "searched"),
    "entities": ("name", "name || ' ' || type || ' ' || notes"),
}
# By what their words are to the writer now, or it would not know them as near to what is said again.
READ = f"SELECT user_id, id, text, simhash FROM memories WHERE normalize(text, NFC) ~ '[{MARKS}]|{CHANGED}'"  # noqa: S608
HASHED = """
UPDATE memories m SET simhash = n.simhash
FROM unnest(CAST(:users AS uuid[]), CAST(:ids AS uuid[]), CAST(:hashes AS bigint[])) AS n(user_id, id, simhash)
WHERE m.user_id = n.user_id AND m.id = n.id
"""


def upgrade() -> None:
    op.execute(ONE_FORM)
    _index()
    _hash()


def downgrade() -> None:
    op.execute(_BEFORE.ONE_FORM.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
    _index()


def _index() -> None:
    for table, (column, said) in ANEW.items():
        # What is two characters here, or one that is two to Unicode, is looked for as the index is made of it.
        op.execute(f"UPDATE {table} SET {column} = {column} WHERE normalize({said}, NFC) ~ '{CHANGED}'")  # noqa: S608


def _hash() -> None:
    connection = op.get_bind()
    found = [
        (user_id, memory_id, simhash)
        for user_id, memory_id, text, before in connection.exec_driver_sql(READ)
        if (simhash := to_signed(simhash64(normalise(text)))) != before
    ]
    if found:
        users, ids, hashes = map(list, zip(*found, strict=True))
        connection.execute(sa.text(HASHED), {"users": users, "ids": ids, "hashes": hashes})
