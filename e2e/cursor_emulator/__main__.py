"""The command line: an interactive start, or one of the subcommands."""

import argparse
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from e2e.cursor_emulator import program
from e2e.cursor_emulator.places import Places
from e2e.cursor_emulator.servers import Servers
from e2e.cursor_emulator.settings import Settings

VERSION = "2026.11.30-emulator"


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    options = _parser().parse_args(arguments)
    if options.version:
        return _say(VERSION)
    places = Places.of(Path(options.workspace or Path.cwd()).resolve())
    settings = Settings.load(api_key=options.api_key)
    match options.words:
        case []:
            return _interactive(options, places, settings)
        case ["status" | "whoami"]:
            return _say("Logged in" if settings.is_logged_in(places) else "Not logged in")
        case ["create-chat"]:
            return _say(str(uuid.uuid4()))
        case ["mcp", "list"]:
            return _list_servers(Servers(places))
        case ["mcp", "enable", name]:
            return _enable(Servers(places), name)
        case _:
            sys.stderr.write(f"error: unknown command {options.words[0]!r}\n")
            return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("cursor-agent", allow_abbrev=False)
    parser.add_argument("-v", "--version", action="store_true")
    parser.add_argument("--workspace")
    parser.add_argument("--resume")
    parser.add_argument("--model")
    parser.add_argument("--mode", choices=("plan", "ask"))
    parser.add_argument("--api-key")
    parser.add_argument("-f", "--force", "--yolo", action="store_true")
    parser.add_argument("--approve-mcps", action="store_true")
    parser.add_argument("words", nargs="*")
    return parser


def _interactive(options: argparse.Namespace, places: Places, settings: Settings) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stderr.write("error: a terminal is needed\n")
        return 1
    chat = options.resume or str(uuid.uuid4())
    started = program.Started(places, settings, chat=chat, force=options.force, version=VERSION)
    if options.approve_mcps:
        for name in (servers := Servers(places)).unapproved():
            servers.approve(name)
    return program.run(started)


def _list_servers(servers: Servers) -> int:
    unapproved = servers.unapproved()
    for name in servers.configured:
        _say(f"{name}: {'not loaded (needs approval)' if name in unapproved else 'ready'}")
    return 0


def _enable(servers: Servers, name: str) -> int:
    if name not in servers.configured:
        sys.stderr.write(f"MCP server {name!r} not found\n")
        return 1
    servers.approve(name)
    return _say(f"Enabled MCP server: {name}")


def _say(line: str) -> int:
    sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
