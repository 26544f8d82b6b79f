"""The command `eval tasks`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import config
from evals import with_memory
from evals.cli_eval import eval_group, placed
from evals.cli_output import FILE, Output, circumstances, output_options
from evals.cli_support import progress
from evals.policies import default_only
from evals.throwaway import throwaway
from memory.clock import utc_now
from memory.remote.llm import ChatModel

# Seconds to wait for an answer. A model without a graphics card is slow, and nobody waits for an answer here.
PATIENCE = 120.0


@eval_group.command("tasks")
@click.argument("file", type=FILE, default=with_memory.BUNDLED)
@click.option("--top", default=5, show_default=True, type=click.IntRange(1, 50), help="Memories in a prompt.")
@output_options
def eval_tasks(file: Path, top: int, **output: Any) -> None:
    """Put tasks that need memory to the model of COMMONPLACE_LLM_URL, with and without what the search finds."""
    settings = config.load()
    if settings.llm_url is None:
        click.echo("Skipped: no language model to ask. Set COMMONPLACE_LLM_URL to an OpenAI-compatible chat endpoint.")
        return
    try:
        data, tasks = with_memory.read(file)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    told = Output(**output)
    told.check(data)
    model = ChatModel(settings.llm_url, settings.llm_model, settings.llm_api_key, PATIENCE)
    now = utc_now()
    with throwaway(now=now) as (runtime, user_id):
        examiner = placed(runtime, user_id, data, now)
        with progress(2 * len(tasks), "answers") as advance:
            found = with_memory.measure(examiner, data, tasks, model, top=top, on_progress=advance)
        values = with_memory.to_values(data, found, model=settings.llm_model, top=top)
        values = {**values, **circumstances(examiner, default_only())}
    told.finish("tasks", with_memory.to_text(found), values, started=now)
