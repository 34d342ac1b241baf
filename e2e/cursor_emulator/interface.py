"""What keys do: they edit the draft, answer a question, submit, stop the turn, or leave."""

from dataclasses import replace

from adapters.scripted_agent.keys import Key, KeyPress, Pasted, Typed
from e2e.cursor_emulator.agent import SERVER, Agent, Phase
from e2e.cursor_emulator.screen import Question, View

ONCE, ALWAYS, REJECT, SKIP = (
    "Run (once) (y)",
    "Allowlist MCP Tool (tab)",
    "Reject & propose changes (p)",
    "Skip (esc or n)",
)
_KEYS = {"y": ONCE, "\t": ALWAYS, "p": REJECT, "n": SKIP}
_STEPS = {Key.UP: -1, Key.DOWN: 1}
_LEAVING = frozenset({"/quit", "/exit"})
_WORDS = {Phase.THINKING: "Working", Phase.CALLING: "Running"}


class Interface:
    """The user's side of an agent. `is_over` says that the user left."""

    def __init__(self, agent: Agent, *, version: str, place: str) -> None:
        self.is_over = False
        self._agent, self._version, self._place = agent, version, place
        self._draft = ""
        self._is_leaving = False
        self._question: Question | None = None
        agent.restore = self._restore

    def press(self, key: KeyPress) -> None:
        was_leaving, self._is_leaving = self._is_leaving, False
        if (question := self._asked()) is not None and key is not Key.BREAK:
            self._answer(question, key)
        elif isinstance(key, Typed | Pasted):
            self._draft += key.text
        else:
            self._edit(key, was_leaving=was_leaving)

    def view(self) -> View:
        agent = self._agent
        return View(
            version=self._version,
            place=self._place,
            mode="Run Everything" if agent.permissions.force else "",
            entries=agent.transcript.entries,
            follow_ups=agent.follow_ups,
            draft=self._draft,
            working=_WORDS.get(agent.phase, ""),
            question=self._asked(),
            leaving=self._is_leaving,
        )

    def _edit(self, key: KeyPress, *, was_leaving: bool) -> None:
        match key:
            case Key.ENTER:
                self._submit()
            case Key.ESCAPE:
                self._agent.interrupt()
            case Key.BACKSPACE:
                self._draft = self._draft[:-1]
            case Key.CLEAR:
                self._draft = ""
            case Key.BREAK:
                self._break(was_leaving=was_leaving)
            case Key.END if not self._draft:
                self.is_over = True
            case _:
                pass

    def _submit(self) -> None:
        """A leading `/` is a command, and a leading `!` a line for a shell, which this program does not run."""
        draft, self._draft = self._draft, ""
        if draft in _LEAVING:
            self.is_over = True
        elif not draft.strip():
            self._agent.send_now()
        elif not draft.startswith(("/", "!")):
            self._agent.submit(draft.strip())

    def _break(self, *, was_leaving: bool) -> None:
        if self._agent.is_working:
            self._agent.interrupt()
            self._is_leaving = True
        elif self._draft:
            self._draft = ""
        else:
            self.is_over, self._is_leaving = was_leaving, True

    def _restore(self, prompt: str) -> None:
        self._draft = self._draft or prompt

    def _asked(self) -> Question | None:
        asked = self._agent.asked if self._agent.phase is Phase.ASKING else None
        if asked is None:
            self._question = None
        elif self._question is None:
            options = (ONCE, ALWAYS, REJECT, SKIP)
            self._question = Question(f"{SERVER}: {asked.tool}", "Run this MCP tool?", options)
        return self._question

    def _answer(self, question: Question, key: KeyPress) -> None:
        if isinstance(key, Key) and key in _STEPS:
            selected = (question.selected + _STEPS[key]) % len(question.options)
            self._question = replace(question, selected=selected)
            return
        chosen = _KEYS.get(key.text) if isinstance(key, Typed) else None
        if key is Key.ENTER:
            chosen = question.options[question.selected]
        elif key is Key.ESCAPE:
            chosen = SKIP
        if chosen in {ONCE, ALWAYS}:
            self._agent.permitted(always=chosen == ALWAYS)
        elif chosen is not None:
            self._agent.skipped()
