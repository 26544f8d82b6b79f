"""Words of scripts that have no blanks between them, by pairs of their characters."""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

# Han; with kana, and from Thai to Khmer, and Korean, whose endings are written on. Without punctuation and digits.
HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
UNSPACED = (
    f"{HAN}\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\uac00-\ud7a3"
)
# To the parser such a run is one word, found by nobody who does not write all of it. Pairs of characters find as well
# as a dictionary's words do (Kwok 1997, "Comparing representations in Chinese information retrieval"), and need none.
# One Han character is often a word by itself.
IN_WORDS = f"""
CREATE FUNCTION in_words(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) > char_length(p_text) AND p_text ~ '[{UNSPACED}]'
THEN regexp_replace(p_text, '[{UNSPACED}]+', ' ', 'g') || ' ' || (
    SELECT string_agg(w.word, ' ' ORDER BY r.place) FROM (
        SELECT c.sign, c.place, c.inside, lead(c.sign) OVER beside AS next, lead(c.inside) OVER beside AS goes_on,
               lag(c.inside) OVER beside AS began
        FROM (
            SELECT t.sign, t.place, t.sign ~ '[{UNSPACED}]' AS inside
            FROM string_to_table(p_text, NULL) WITH ORDINALITY AS t(sign, place)
        ) c WINDOW beside AS (ORDER BY c.place)
    ) r CROSS JOIN LATERAL (
        SELECT r.sign || r.next AS word WHERE r.goes_on
        UNION ALL
        SELECT r.sign WHERE r.sign ~ '[{HAN}]' OR NOT (coalesce(r.began, false) OR coalesce(r.goes_on, false))
    ) w WHERE r.inside
) ELSE p_text END
"""  # noqa: S608 - put together from what is written above alone
# Each with its text, as SQL over a row of it, and the text of its column.
BEFORE = {
    "memories": "to_tsvector('english'::regconfig, text) || to_tsvector('english'::regconfig, tags_text(tags))",
    "episodes": "to_tsvector('english'::regconfig, searched)",
    "entities": "to_tsvector('english'::regconfig, name || ' ' || type || ' ' || notes)",
}
NOW = {
    "memories": (
        "to_tsvector('english'::regconfig, in_words(text)) || "
        "to_tsvector('english'::regconfig, in_words(tags_text(tags)))"
    ),
    "episodes": "to_tsvector('english'::regconfig, in_words(searched))",
    "entities": "to_tsvector('english'::regconfig, in_words(name || ' ' || type || ' ' || notes))",
}
# What a table's triggers do for a row that changes: a column that is worked out anew starts none.
POSTINGS = {
    "memories": ("postings", "memory_id", "space_id", "space_id", "text || ' ' || tags_text(tags)"),
    "episodes": ("episode_postings", "item_id", "scope_id", "conversation_id", "searched"),
    "entities": ("entity_postings", "item_id", "scope_id", "space_id", "name || ' ' || type || ' ' || notes"),
}
ROWS = """
CREATE TEMPORARY TABLE unspaced ON COMMIT DROP AS
SELECT user_id, id, {item_scope} AS scope, tsv FROM {items} WHERE {said} ~ '[{unspaced}]'{served}
"""
OUT = "DELETE FROM {postings} p USING unspaced u WHERE p.user_id = u.user_id AND p.{item} = u.id"
IN = """
INSERT INTO {postings} (user_id, {scope}, lexeme, {item}, tf, length)
SELECT u.user_id, u.scope, t.lexeme, u.id, cardinality(t.positions),
       sum(cardinality(t.positions)) OVER (PARTITION BY u.user_id, u.id)
FROM unspaced u, unnest(u.tsv) t
"""
COUNTED = """
UPDATE {counted} c SET {tokens} = coalesce((
    SELECT sum(p.tf) FROM {postings} p WHERE p.user_id = c.user_id AND p.{scope} = c.id
), 0) WHERE (c.user_id, c.id) IN (SELECT user_id, scope FROM unspaced)
"""
COUNTERS = {"memories": ("spaces", "tokens"), "episodes": ("conversations", "tokens_indexed")}


def upgrade() -> None:
    op.execute(IN_WORDS)
    _index(NOW)


def downgrade() -> None:
    _index(BEFORE)
    op.execute("DROP FUNCTION in_words(text)")


def _index(columns: dict[str, str]) -> None:
    for items, column in columns.items():
        op.execute(f"ALTER TABLE {items} ALTER COLUMN tsv SET EXPRESSION AS ({column})")
        postings, item, scope, item_scope, said = POSTINGS[items]
        served = " AND status = 'active'" if items == "memories" else ""
        names = {"postings": postings, "item": item, "scope": scope}
        op.execute(ROWS.format(items=items, item_scope=item_scope, said=f"({said})", unspaced=UNSPACED, served=served))
        op.execute(OUT.format(**names))
        op.execute(IN.format(**names))
        if items in COUNTERS:
            counted, tokens = COUNTERS[items]
            op.execute(COUNTED.format(counted=counted, tokens=tokens, **names))
        op.execute("DROP TABLE unspaced")
