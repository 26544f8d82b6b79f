"""Whether an answer of the interface is as its description says."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from flask import Flask
from pydantic import BaseModel
from werkzeug.exceptions import HTTPException
from werkzeug.test import TestResponse

from webapp.api import answers

# Which of the shapes that the description offers a tool's answer has.
TOOLS = {"/v1/tools/memory_search": answers.SearchAnswer, "/v1/tools/query_memory": answers.QueryMemoryAnswer}


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
    model = TOOLS.get(path) if name == "ToolAnswer" else getattr(answers, name, None)
    if model is not None:
        _check_fields(model, response.json)


def _check_fields(model: type[BaseModel], answer: Any) -> None:
    assert model.model_validate(answer, strict=True).model_dump(mode="json", exclude_unset=True) == answer


def _operation(app: Flask, method: str, path: str) -> dict[str, Any] | None:
    try:
        rule, _ = app.url_map.bind("").match(path.partition("?")[0], method=method, return_rule=True)
    except HTTPException:
        return None
    item = _paths(app).get(re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), {})
    found: dict[str, Any] | None = item.get(method.lower())
    return found


@cache
def _paths(app: Flask) -> dict[str, Any]:
    described = app.test_client().get("/v1/openapi.json").json
    assert described is not None
    return dict(described["paths"])
