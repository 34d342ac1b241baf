"""What keys do: they edit the draft, answer a dialog, submit, interrupt, or leave."""

from dataclasses import replace

from adapters.scripted_agent import wording
from adapters.scripted_agent.habits import Habits
from adapters.scripted_agent.keys import Key, KeyPress, Pasted, Typed
from adapters.scripted_agent.quirks import Quirks, Record
from adapters.scripted_agent.runner import Phase, Runner
from adapters.scripted_agent.screen import Choice, View
from adapters.scripted_agent.text import unguarded

_STEPS = {Key.UP: -1, Key.DOWN: 1}


class Interface:
    """The user's side of a runner. `is_over` says that the user left."""

    def __init__(self, runner: Runner, quirks: Quirks, record: Record) -> None:
        self.is_over = False
        self._quirks, self._habits = quirks, Habits(quirks, record)
        self._runner = runner
        self._draft = ""
        self._choice: Choice | None = None
        self._is_leaving = False

    def press(self, key: KeyPress) -> None:
        """One key, or one paste."""
        was_leaving, self._is_leaving = self._is_leaving, False
        if self._current_choice() is not None and key is not Key.BREAK:
            self._press_in_choice(key)
        elif isinstance(key, Typed | Pasted):
            before, self._draft = self._draft, self._draft + key.text
            self._habits.edited(self._draft, before=before)
        elif key is Key.BREAK:
            self._break(was_leaving=was_leaving)
        else:
            self._edit(key)

    def view(self) -> View:
        """What the screen shows now."""
        return View(
            entries=self._runner.transcript.entries,
            queued=self._runner.queued,
            draft=self._habits.drawn(self._draft),
            choice=self._current_choice(),
            footer=self._footer(),
            status=self._habits.status(self._draft, is_working=self._runner.is_working),
            ghost=self._quirks.ghost,
            more_footer=self._quirks.footer,
        )

    def _edit(self, key: Key) -> None:
        match key:
            case Key.ENTER:
                self._submit()
            case Key.ESCAPE:
                self._runner.interrupt()
            case Key.BACKSPACE:
                self._draft = self._draft[:-1]
            case Key.CLEAR:
                self._draft = ""
            case Key.END if not self._draft:
                self.is_over = True
            case _:
                pass

    def _submit(self) -> None:
        if self._habits.keeps(self._draft):
            return
        draft, self._draft = self._draft, ""
        prompt = unguarded(draft)
        if self._habits.takes(draft) or not prompt.strip():
            return
        self._habits.submitted(prompt, draft=draft)
        if self._quirks.exit_status is None:
            self._runner.submit(prompt)
        else:
            self.is_over = True

    def _break(self, *, was_leaving: bool) -> None:
        """Clears a draft, else interrupts, else leaves on the second press in a row."""
        if self._draft:
            self._draft = ""
        elif self._runner.is_working:
            self._runner.interrupt()
        else:
            self.is_over, self._is_leaving = was_leaving, True

    def _press_in_choice(self, key: KeyPress) -> None:
        choice = self._current_choice()
        if choice is None:
            return
        if isinstance(key, Key) and key in _STEPS:
            self._choice = replace(choice, selected=(choice.selected + _STEPS[key]) % len(choice.options))
        elif key is Key.ENTER:
            self._choice = None
            self._runner.permitted(allowed=choice.options[choice.selected] == wording.PERMISSION_YES)
        elif key is Key.ESCAPE:
            self._choice = None
            self._runner.interrupt()

    def _current_choice(self) -> Choice | None:
        """The open permission question, with the selection that was made so far."""
        asked = self._runner.asked if self._runner.phase is Phase.ASKING else None
        if asked is None:
            self._choice = None
        elif self._choice is None:
            question = wording.PERMISSION_QUESTION.format(tool=asked.tool)
            options = (wording.PERMISSION_YES, wording.PERMISSION_NO)
            self._choice = Choice(question, (str(dict(asked.arguments)),), options)
        return self._choice

    def _footer(self) -> str:
        if self._runner.phase is Phase.ASKING:
            return wording.CHOOSING
        if self._runner.phase is Phase.STARTING:
            return wording.STARTING
        if self._runner.is_working:
            return wording.WORKING
        if self._is_leaving:
            return wording.LEAVING
        return wording.READY if self._runner.tools else wording.READY_WITHOUT_TOOLS


class TrustQuestion:
    """Asked before anything else happens in a directory. `answer` is None while it is open."""

    def __init__(self, directory: str, *, yes_first: bool = False) -> None:
        self.answer: bool | None = None
        options = (wording.TRUST_NO, wording.TRUST_YES)
        self._choice = Choice(wording.TRUST_QUESTION, (directory,), options[::-1] if yes_first else options)

    def press(self, key: KeyPress) -> None:
        if isinstance(key, Key) and key in _STEPS:
            selected = (self._choice.selected + _STEPS[key]) % len(self._choice.options)
            self._choice = replace(self._choice, selected=selected)
        elif key is Key.ENTER:
            self.answer = self._choice.options[self._choice.selected] == wording.TRUST_YES
        elif key in {Key.ESCAPE, Key.BREAK, Key.END}:
            self.answer = False

    def view(self) -> View:
        return View(choice=self._choice, footer=wording.CHOOSING)
