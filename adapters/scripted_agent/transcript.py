"""The conversation as a file of JSON lines: what is shown, what the model is sent, what a resumed run starts from."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Entry = Mapping[str, object]
"""`type` is `user`, `assistant`, `tool_call`, `tool_result`, `interrupted`, `turn_end` or `untold_event`."""

LOST_RESULT = "The session ended before this call was answered; its outcome is unknown."


@dataclass(slots=True)
class Transcript:
    path: Path
    entries: list[Entry] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path, *, resume: bool) -> "Transcript":
        """Starts a transcript, or goes on with an existing one: a turn that a crash cut off counts as interrupted."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        transcript = cls(path, list(_read(path)) if resume else [])
        for call_id in transcript._unanswered():
            transcript.append("tool_result", call_id=call_id, text=LOST_RESULT)
        if transcript._is_in_a_turn():
            transcript.append("interrupted")
            transcript.append("turn_end", turn=transcript.turns + 1, outcome="interrupted", final_text="", error=None)
        return transcript

    @property
    def turns(self) -> int:
        """How many turns have ended."""
        return sum(entry["type"] == "turn_end" for entry in self.entries)

    def append(self, kind: str, **fields: object) -> None:
        """Adds one line; it is in the file on return."""
        entry = {"type": kind, **fields}
        self.entries.append(entry)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _unanswered(self) -> list[object]:
        answered = {entry["call_id"] for entry in self.entries if entry["type"] == "tool_result"}
        calls = [entry["call_id"] for entry in self.entries if entry["type"] == "tool_call"]
        return [call_id for call_id in calls if call_id not in answered]

    def _is_in_a_turn(self) -> bool:
        kinds = [entry["type"] for entry in self.entries if entry["type"] != "untold_event"]
        return bool(kinds) and kinds[-1] != "turn_end"


def _read(path: Path) -> Iterator[Entry]:
    """The complete lines; a half-written last one is left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and "type" in entry:
            yield entry
