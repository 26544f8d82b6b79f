"""The tools that agents call, by name."""

from webapp.tools.base import Tool, ToolResult
from webapp.tools.entities import ENTITY_TOOLS
from webapp.tools.episodes import EPISODE_TOOLS
from webapp.tools.facts import FACT_TOOLS
from webapp.tools.memory import MEMORY_TOOLS

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (*MEMORY_TOOLS, *EPISODE_TOOLS, *ENTITY_TOOLS, *FACT_TOOLS)}

__all__ = ["TOOLS", "Tool", "ToolResult"]
