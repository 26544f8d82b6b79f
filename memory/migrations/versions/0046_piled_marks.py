"""Texts of which the database would bring the marks in order, and heed no time limit until it has."""

from importlib import import_module

from alembic import op

from memory.texts.scripts import PILE

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

BEFORE = str(import_module("memory.migrations.versions.0045_letters").ONE_FORM)
# No letter that people write has so many marks: nothing is indexed anew.
ONE_FORM = BEFORE.replace("translate(s.said,", rf"translate(regexp_replace(s.said, '{PILE.pattern}', '\1', 'g'),")


def upgrade() -> None:
    op.execute(ONE_FORM)


def downgrade() -> None:
    op.execute(BEFORE)
