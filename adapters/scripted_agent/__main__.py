"""The command line: `--config FILE`, or `--version`."""

import sys
from pathlib import Path

from adapters.scripted_agent import quirks
from adapters.scripted_agent.config import ConfigError, load
from adapters.scripted_agent.program import run

VERSION = "1.0"
USAGE = "usage: python -I -m adapters.scripted_agent --config FILE | --version\n"


def main(arguments: list[str]) -> int:
    """Runs the program; 2 when it was called wrongly."""
    match arguments:
        case ["--version"]:
            sys.stdout.write(f"scripted-agent {VERSION}\n")
            return 0
        case ["--config", file]:
            return _run(Path(file))
        case _:
            sys.stderr.write(USAGE)
            return 2


def _run(file: Path) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stderr.write("scripted-agent: a terminal is needed\n")
        return 2
    try:
        return run(load(file), quirks.load())
    except ConfigError as problem:
        sys.stderr.write(f"scripted-agent: {problem}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
