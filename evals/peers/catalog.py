"""Which systems are compared, and how each is set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ADAPTERS = Path(__file__).with_name("adapters")
REQUIREMENTS = Path(__file__).with_name("requirements")
# The folder of the peers' environments, in the data folder.
FOLDER = "peers"
# Set for every peer: no telemetry, under any of the names that turn it off, and no request to a model hub.
QUIET: Mapping[str, str] = {
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "MEM0_TELEMETRY": "False",
    "ORT_DISABLE_TELEMETRY": "1",
    "OTEL_SDK_DISABLED": "true",
    "POSTHOG_DISABLED": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_OFFLINE": "1",
}


@dataclass(frozen=True, slots=True)
class Peer:
    """A system in one way of using it.

    `environment` names the environment that it shares with its other ways, and its file of requirements; `module` is
    its adapter. In `settings`, environment variables of its process, `{home}`, `{model}` and `{onnx}` are filled in.
    """

    name: str
    environment: str
    module: str
    says: str
    options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    postgres: bool = False

    def folder(self, environments: Path) -> Path:
        """Return where its environment is."""
        return environments / self.environment

    def python(self, environments: Path) -> Path:
        """Return the interpreter of its environment, which need not be there."""
        return self.folder(environments) / "bin" / "python"

    @property
    def adapter(self) -> list[str]:
        """Return the arguments of the interpreter."""
        return [str(ADAPTERS / "serve.py"), self.module]

    @property
    def requirements(self) -> Path:
        """Return the file of what its environment needs."""
        return REQUIREMENTS / f"{self.environment}.txt"


_HINDSIGHT = {
    "HINDSIGHT_API_LLM_PROVIDER": "none",
    "HINDSIGHT_API_EMBEDDINGS_PROVIDER": "onnx",
    "HINDSIGHT_API_EMBEDDINGS_ONNX_MODEL_PATH": "{onnx}",
    "HINDSIGHT_API_EMBEDDINGS_ONNX_TOKENIZER_NAME_OR_PATH": "{model}",
    "HINDSIGHT_API_EMBEDDINGS_ONNX_MAX_TOKENS": "256",
    "HINDSIGHT_API_EMBEDDINGS_ONNX_QUERY_PREFIX": "",
    "HINDSIGHT_API_EMBEDDINGS_ONNX_PASSAGE_PREFIX": "",
    "HINDSIGHT_API_RERANKER_PROVIDER": "rrf",
    "HINDSIGHT_API_OTEL_TRACES_ENABLED": "false",
    "HINDSIGHT_API_LOG_LEVEL": "warning",
}
_TWO_ARMS = {"HINDSIGHT_API_ENABLE_GRAPH_RETRIEVAL": "false", "HINDSIGHT_API_ENABLE_TEMPORAL_RETRIEVAL": "false"}
_MEMPALACE = {
    "MEMPALACE_PALACE_PATH": "{home}/palace",
    "MEMPALACE_EMBEDDING_MODEL": "minilm",
    # As many as onnxruntime likes; by default it would use half of the processors.
    "MEMPALACE_EMBEDDING_THREADS": "0",
    "MEMPALACE_LANG": "en",
}

PEERS: tuple[Peer, ...] = (
    Peer("mem0", "mem0", "mem0_peer", "mem0, Qdrant in a folder (its default)", {"store": "qdrant"}),
    Peer("mem0-pgvector", "mem0", "mem0_peer", "mem0, PostgreSQL", {"store": "pgvector"}, postgres=True),
    Peer("langgraph", "langgraph", "langgraph_peer", "LangGraph, HNSW (its default)", {"index": "hnsw"}, postgres=True),
    Peer(
        "langgraph-huggingface",
        "langgraph",
        "langgraph_peer",
        "LangGraph, the model as it documents",
        {"index": "hnsw", "embed": "huggingface"},
        postgres=True,
    ),
    Peer("langgraph-flat", "langgraph", "langgraph_peer", "LangGraph, no index", {"index": "flat"}, postgres=True),
    Peer("hindsight", "hindsight", "hindsight_peer", "Hindsight, all four arms", settings=_HINDSIGHT, postgres=True),
    Peer(
        "hindsight-two-arms",
        "hindsight",
        "hindsight_peer",
        "Hindsight without graph and time",
        settings=_HINDSIGHT | _TWO_ARMS,
        postgres=True,
    ),
    Peer("mempalace", "mempalace", "mempalace_peer", "MemPalace (its default)", settings=_MEMPALACE),
    Peer(
        "mempalace-union",
        "mempalace",
        "mempalace_peer",
        "MemPalace, keyword candidates too",
        {"candidates": "union"},
        settings=_MEMPALACE,
    ),
)
NAMES = tuple(each.name for each in PEERS)
ENVIRONMENTS = tuple(dict.fromkeys(each.environment for each in PEERS))
