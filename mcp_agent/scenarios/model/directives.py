"""The sentences that the scripted model understands: each prompt of `prompts.py`, read back."""

import re
from dataclasses import dataclass

from mcp_agent.scenarios.prompts import PATIENTLY

_WORD = r"([\w-]+)"

_REMEMBER = re.compile(rf"\bthe token is\s+{_WORD}\.", re.IGNORECASE)
_RECALL = re.compile(r"\bthe note token I told you to remember\b", re.IGNORECASE)
_RUN = re.compile(
    r"\brun exactly this command:\s+`(?P<command>.+?)`\.\s+Wait for its result\.\s+"
    r"Then answer exactly (?P<form>DONE_|OUTPUT)",
    re.DOTALL,
)
_PUBLISH = re.compile(
    rf"\bUse the {_WORD} tool of the api-bridge server to publish exactly this text:\s+`(.+?)`\.\s+If its result",
    re.DOTALL,
)
_DELEGATE = re.compile(
    rf"\bwith the agent {_WORD} and, as its\s+instructions, .*?^BEGIN TASK\n(.*)\nEND TASK\s*$",
    re.DOTALL | re.MULTILINE,
)
_LINES = re.compile(rf"\bexactly\s+(\d+)\s+lines\b.*?\bEach line is\s+{_WORD}_\s+followed", re.DOTALL)
_REPEAT = re.compile(r"^BEGIN TEXT\n(.*)\nEND TEXT\s*$", re.DOTALL | re.MULTILINE)
_FILL = re.compile(
    rf"with every PLACEHOLDER in it replaced by {_WORD} and nothing else\.\s+^BEGIN TEXT\n(.*)\nEND TEXT\s*$",
    re.DOTALL | re.MULTILINE,
)
_LIVE = re.compile(rf"\badd (?:a space and )?(LIVE_{_WORD}) at the end of your answer\b", re.IGNORECASE)

_MOST_LINES = 10_000


@dataclass(frozen=True, slots=True)
class Remember:
    token: str


@dataclass(frozen=True, slots=True)
class Recall:
    pass


@dataclass(frozen=True, slots=True)
class Run:
    command: str
    prefix: str
    """What stands before the command's output in the answer."""
    patient: bool = False
    """A call of unknown outcome is waited for."""


@dataclass(frozen=True, slots=True)
class Publish:
    tool: str
    text: str


@dataclass(frozen=True, slots=True)
class Delegate:
    agent: str
    task: str


@dataclass(frozen=True, slots=True)
class Lines:
    count: int
    token: str


@dataclass(frozen=True, slots=True)
class Repeat:
    text: str


@dataclass(frozen=True, slots=True)
class FillIn:
    text: str
    word: str


Directive = Remember | Recall | Run | Publish | Delegate | Lines | Repeat | FillIn


def directive_of(text: str) -> Directive | None:
    """What one prompt asks for; None when it is none of ours. Quoted text outranks what stands inside the quotes."""
    if found := _FILL.search(text):
        return FillIn(found[2], found[1])
    if found := _REPEAT.search(text):
        return Repeat(found[1])
    if found := _DELEGATE.search(text):
        return Delegate(found[1], found[2])
    if found := _RUN.search(text):
        prefix = "DONE_" if found["form"] == "DONE_" else "OUTPUT "
        return Run(found["command"], prefix, patient=PATIENTLY in text)
    if found := _PUBLISH.search(text):
        return Publish(found[1], found[2])
    if found := _LINES.search(text):
        return Lines(min(int(found[1]), _MOST_LINES), found[2])
    if _RECALL.search(text):
        return Recall()
    if found := _REMEMBER.search(text):
        return Remember(found[1])
    return None


def live_additions(text: str) -> list[str]:
    """Every `LIVE_…` word that the text asks to add."""
    return [found[1] for found in _LIVE.finditer(text)]
