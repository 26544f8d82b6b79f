"""A hand-made LoCoMo file of one short conversation, and where the real one would be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

REAL_FILE = Path(__file__).parents[3] / "shared" / "data" / "locomo_dev.json"


def sample(**changes: Any) -> dict[str, Any]:
    """A sample of two sessions; keyword arguments replace its parts."""
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_1": [
            turn("D1:1", "Ann", "I adopted a puppy from the shelter and called him Biscuit."),
            turn("D1:2", "Bob", "Wow, how lovely!"),
            turn("D1:3", "Ann", "My cello lessons start again next Tuesday."),
            turn("D1:4", "Bob", ""),
        ],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            turn("D2:1", "Bob", "The bakery on Elm Street burnt down last night.", blip_caption="a photo of smoke"),
            turn("D2:2", "Bob", "wow, how lovely!"),
        ],
        "session_2_date_time": "12:09 am on 13 September, 2023",
        "session_3_date_time": "9:00 am on 1 October, 2023",
    }
    questions = [
        question("What did Ann adopt?", 4, ["D1:1"]),
        question("What burned on Elm Street?", 4, ["D2:1"]),
        question("Which instrument does Ann play?", 1, ["D1:03; D1:3"]),
        question("How did Bob react twice?", 4, ["D1:2", "D2:2"]),
        question("Did Bob adopt a snake?", 5, ["D1:1"]),
        question("What is nobody told?", 3, []),
    ]
    return {"sample_id": "conv-1", "conversation": conversation, "qa": questions, **changes}


def turn(dia_id: str, speaker: str, text: str, **more: str) -> dict[str, str]:
    """One turn as LoCoMo has it."""
    return {"dia_id": dia_id, "speaker": speaker, "text": text, **more}


def question(text: str, category: int, evidence: list[str]) -> dict[str, Any]:
    """One question as LoCoMo has it."""
    return {"question": text, "category": category, "evidence": evidence, "answer": ""}
