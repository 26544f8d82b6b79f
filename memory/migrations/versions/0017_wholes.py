"""Lexemes that are no mere word: addresses, paths and codes, in which a part is looked for."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# Few postings are of such, and to look for them among all others took longer than the search itself.
SCOPES = {"postings": "space_id", "episode_postings": "scope_id", "entity_postings": "scope_id"}
HAS_SIGN = sa.text("lexeme ~ '[^[:alnum:]]'")


def upgrade() -> None:
    for postings, scope in SCOPES.items():
        columns = ["user_id", scope, "lexeme"]
        op.create_index(f"ix_{postings}_wholes", postings, columns, postgresql_where=HAS_SIGN)


def downgrade() -> None:
    for postings in SCOPES:
        op.drop_index(f"ix_{postings}_wholes", table_name=postings, postgresql_where=HAS_SIGN)
