"""The program that runs in a pane, as the operating system knows it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

_ARGUMENTS_THAT_NAME_IT = 2
"""An interpreter, and the script that it runs."""


@dataclass(frozen=True, slots=True)
class Program:
    """One running program."""

    executable: str
    name: str
    argv: tuple[str, ...]

    @property
    def names(self) -> Iterator[str]:
        """What it calls itself and its files."""
        yield self.name
        for path in (self.executable, *self.argv[:_ARGUMENTS_THAT_NAME_IT]):
            yield Path(path).name

    def is_called(self, executable: str) -> bool:
        """Whether it, or the script that it runs, has this name, whatever version stands behind the name."""
        return any(name == executable or name.startswith(f"{executable}.") for name in self.names)

    @property
    def told(self) -> str:
        return " ".join([self.executable, *self.argv[1:_ARGUMENTS_THAT_NAME_IT]])


def program_of(pid: int) -> Program | None:
    """The program of a process; None when it is gone."""
    try:
        process = psutil.Process(pid)
        return Program(process.exe(), process.name(), tuple(process.cmdline()))
    except psutil.Error:
        return None
