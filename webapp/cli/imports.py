"""`commonplace import`: what comes in from elsewhere."""

from __future__ import annotations

from webapp.cli.lazy import Lazy, LazyGroup

import_group = LazyGroup(
    "import",
    help="Bring in an export, or memories and conversations from elsewhere.",
    lazy={
        "export": Lazy(
            "webapp.cli.bring_export:import_export", "Bring an export into an account that has nothing yet."
        ),
        "memories": Lazy("webapp.cli.bring_notes:import_memories", "Bring in Markdown, text or JSON from elsewhere."),
        "chats": Lazy("webapp.cli.bring_chats:import_chats", "Bring in chats from an export of ChatGPT or Claude."),
        "locomo": Lazy("evals.cli:import_locomo", "Import the conversations of a LoCoMo file, a space for each."),
    },
)
