"""Whether an answer of the interface is as its description says."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from flask import Flask
from pydantic import BaseModel
from werkzeug.exceptions import HTTPException
from werkzeug.test import TestResponse

from webapp.api import account_answers, answers, command, conversation_answers, record_answers, tool_answers

SHAPES = {
    name: shape
    for module in (answers, tool_answers, conversation_answers, record_answers, account_answers, command)
    for name, shape in vars(module).items()
    if isinstance(shape, type) and issubclass(shape, BaseModel)
}
# Which of the shapes that the description offers a tool's answer has.
TOOLS: dict[str, type[BaseModel]] = {
    "/v1/tools/memory_search": tool_answers.SearchAnswer,
    "/v1/tools/episode_search": tool_answers.EpisodeSearchAnswer,
    "/v1/tools/entity_search": tool_answers.EntitySearchAnswer,
    "/v1/tools/fact_add": answers.StatedFactAnswer,
    "/v1/tools/fact_search": tool_answers.FactSearchAnswer,
    "/v1/tools/fact_update": answers.ChangedFactAnswer,
    "/v1/tools/fact_delete": answers.DeletedAnswer,
    "/v1/tools/query_memory": tool_answers.QueryMemoryAnswer,
    "/v1/tools/memory_add": tool_answers.AddedAnswer,
    "/v1/tools/memory_get": tool_answers.ItemAnswer,
    "/v1/tools/memory_update": tool_answers.UpdatedAnswer,
    "/v1/tools/memory_delete": answers.DeletedAnswer,
    "/v1/tools/memory_list_themes": tool_answers.ListedThemesAnswer,
}


# What is wrong with what was sent, as a whole or in a part of it, or does not go with what is there.
OF_FIELDS = {400, 409, 413, 415, 422}
# What is said there is a sentence, and what stands against it is in no field.
SPOKEN = "/v1/command"


def check(app: Flask, method: str, path: str, response: TestResponse) -> None:
    """Fail when a described operation answers with a status, a type or fields that its description does not have."""
    operation = _operation(app, method, path)
    if operation is None or response.status_code in {301, 308, 405, 429, 500}:
        return
    described = operation["responses"].get(str(response.status_code))
    assert described is not None, f"{method} {path} answers {response.status_code}, which is not described"
    content = described["content"].get(response.mimetype)
    assert content is not None, f"{method} {path} answers {response.mimetype}, which is not described"
    name = content["schema"].get("$ref", "").rpartition("/")[2]
    model = TOOLS[path] if name == "ToolAnswer" else SHAPES.get(name)
    if model is not None:
        # Half a surrogate pair, which a payload may have, is no JSON to pydantic.
        answer = json.dumps(response.json, ensure_ascii=False).encode("utf-8", "replace")
        read = model.model_validate_json(answer, strict=True)
        assert read.model_dump(mode="json", exclude_unset=True) == json.loads(answer)
    if response.status_code in OF_FIELDS and path != SPOKEN:
        told = {response.json.get("reason"), *(found["field"] for found in response.json.get("errors", ()))}
        assert told - {"", None}, f"{method} {path} answers {response.status_code} and names no field"


def template(app: Flask, method: str, path: str) -> str:
    """Return the described path that an address is of; empty where there is nothing at it."""
    try:
        rule, _ = app.url_map.bind("").match(path.partition("?")[0], method=method, return_rule=True)
    except HTTPException:
        return ""
    return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)


def _operation(app: Flask, method: str, path: str) -> dict[str, Any] | None:
    item = _paths(app).get(template(app, method, path), {})
    found: dict[str, Any] | None = item.get(method.lower())
    return found


@cache
def _paths(app: Flask) -> dict[str, Any]:
    described = app.test_client().get("/v1/openapi.json").json
    assert described is not None
    return dict(described["paths"])
