"""Words in the index in one form, however their letters were put together and however wide they are."""

from importlib import import_module

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# Full-width signs, letters and digits, then half-width kana, whose voice marks are signs of their own.
WIDE = "".join(map(chr, [0x3000, *range(0xFF01, 0xFF5F), *range(0xFF61, 0xFFA0)]))
PLAIN = "".join(map(chr, [0x20, *range(0x21, 0x7F)])) + (
    "。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン"
    "\u3099\u309a"
)
# Names of files and texts of documents often have a letter and its accent as two characters, of which the parser makes
# two words. Not the compatible form (NFKC): of "Basel¹" it makes "Basel1".
ONE_FORM = f"""
CREATE FUNCTION one_form(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) > char_length(p_text)
THEN normalize(translate(p_text, '{WIDE}', '{PLAIN.replace("'", "''")}'), NFC) ELSE p_text END
"""
BEFORE = str(import_module("memory.migrations.versions.0019_unspaced").IN_WORDS).replace("CREATE", "CREATE OR REPLACE")
HEAD, BODY = BEFORE.split("RETURN CASE", 1)
NOW = f"{HEAD}RETURN (SELECT CASE{BODY.replace('p_text', 't.said')} FROM (SELECT one_form(p_text) AS said) t)"  # noqa: S608
# What is set to what it is is indexed anew, with its postings and what is counted of them.
ANEW = {
    "memories": ("text", "text || tags_text(tags)"),
    "episodes": ("searched", "searched"),
    "entities": ("name", "name || type || notes"),
}


def upgrade() -> None:
    op.execute(ONE_FORM)
    op.execute(NOW)
    _index()


def downgrade() -> None:
    op.execute(BEFORE)
    _index()
    op.execute("DROP FUNCTION one_form(text)")


def _index() -> None:
    for table, (column, said) in ANEW.items():
        op.execute(f"UPDATE {table} SET {column} = {column} WHERE one_form({said}) <> {said}")  # noqa: S608
