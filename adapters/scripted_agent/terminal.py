"""The terminal itself: raw mode, size, rows that are drawn only where they changed."""

import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta

from adapters.scripted_agent import wording
from adapters.scripted_agent.keys import KeyParser, KeyPress
from adapters.scripted_agent.quirks import Joiner, Quirks, Record, wait_for
from adapters.scripted_agent.screen import Frame

ESCAPE_LIMIT = timedelta(milliseconds=30)
"""An escape character that nothing follows for so long was the Escape key."""

_BEGIN = f"\x1b]2;{wording.TITLE}\x1b\\\x1b[2J"
_BRACKETS = "\x1b[?2004h"
_END = "\x1b[?2004l\x1b[?25h\r\n"


class Terminal:
    """The standard streams as a screen."""

    def __init__(self, quirks: Quirks) -> None:
        self._quirks = quirks
        self._rows: Sequence[str] = ()
        self._size = (0, 0)

    @contextmanager
    def raw(self) -> Iterator[None]:
        """Keys arrive as they are pressed; the former mode comes back afterwards."""
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
        tty.setraw(descriptor)
        try:
            self._write("".join(f"{row}\r\n" for row in self._quirks.scrollback) + _BEGIN)
            self._write(_BRACKETS if self._quirks.brackets else "")
            yield
        finally:
            with suppress(OSError, termios.error):
                self._write(f"\x1b[{self.size()[1]};1H{_END}")
                termios.tcsetattr(descriptor, termios.TCSADRAIN, before)

    def size(self) -> tuple[int, int]:
        """Columns and rows; a terminal that does not know them has 80 by 24."""
        size = os.get_terminal_size(sys.stdout.fileno())
        return size.columns or 80, size.lines or 24

    def draw(self, frame: Frame, size: tuple[int, int]) -> None:
        """Shows a frame that was rendered for this size."""
        time.sleep(self._quirks.draw_lags_seconds)
        changed = size != self._size
        out = ["\x1b[?25l", "\x1b[2J" if changed else ""]
        for number, row in enumerate(frame.rows):
            if changed or number >= len(self._rows) or row != self._rows[number]:
                out.append(f"\x1b[{number + 1};1H\x1b[2K{row}")
        row_number, column = frame.cursor
        out.append(f"\x1b[{row_number + 1};{column + 1}H\x1b[?25h")
        self._rows, self._size = frame.rows, size
        self._write("".join(out))

    def _write(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]


def read_keys(tell: Callable[[KeyPress | None], None], quirks: Quirks, record: Record) -> None:
    """Hands over keys from a thread of its own; None when no more can come."""
    threading.Thread(target=_read_keys, args=(tell, quirks, record), name="keys", daemon=True).start()


def _read_keys(tell: Callable[[KeyPress | None], None], quirks: Quirks, record: Record) -> None:
    descriptor, parser, joiner = sys.stdin.fileno(), KeyParser(), Joiner(quirks.enter_joins_seconds)
    wait_for(quirks.reads_after)
    while True:
        limit = ESCAPE_LIMIT.total_seconds() if parser.unfinished else None
        if not select.select([descriptor], [], [], limit)[0]:
            presses = parser.flush()
        else:
            try:
                data = os.read(descriptor, 1 << 16)
            except OSError:
                data = b""
            if not data:
                tell(None)
                return
            record.note("read", data.decode("latin-1"))
            presses = parser.feed(data)
        for press in presses:
            tell(joiner.join(press, now_seconds=time.monotonic()))
