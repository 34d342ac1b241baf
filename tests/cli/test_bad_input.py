"""What cannot be done is said in one line with the right exit code, and nothing is created for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import COMMAND, assert_one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Person

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
START = ("session", "start", "--provider", "scripted", "--trust")
ASK = ("ask", "--provider", "scripted", "--trust")

as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


def assert_untouched(person: Person) -> None:
    """No state, no server, no process, and nothing in the user's directories."""
    assert not person.home.exists()
    assert person.processes() == []
    assert list(person.work.iterdir()) == list((person.root / "user").iterdir()) == []


@pytest.mark.parametrize("command", [("session", "start"), ("ask", "hello"), ("test", "coding-agent-chat-e2e")])
def test_an_unknown_provider_is_told_with_the_known_ones(person: Person, command: tuple[str, ...]) -> None:
    more = ("--model-server", "scripted") if command[0] == "test" else ()
    done = person.run(*command, "--provider", "nobody", *more)
    assert_one_line(done, 2, "unknown provider 'nobody'", "known:", "scripted")
    assert_untouched(person)


@pytest.mark.parametrize("command", [("session", "start"), ("ask", "hello")])
def test_a_cli_that_is_not_installed_is_told_with_what_to_run(person: Person, command: tuple[str, ...]) -> None:
    done = person.run(*command, "--provider", "claude-code")
    assert_one_line(done, 4, "is not installed", "install it with: ")
    assert_untouched(person)


@pytest.fixture
def path_without_tmux(person: Person) -> str:
    """A PATH with the scripted agent's Python and without tmux."""
    directory = person.root / "bin"
    directory.mkdir()
    (directory / "python3").symlink_to("/usr/bin/python3")
    return str(directory)


@pytest.mark.contract("S1")
@pytest.mark.parametrize("command", [START, (*ASK, "hello")])
def test_a_missing_tmux_is_told_with_what_to_install(
    person: Person, path_without_tmux: str, command: tuple[str, ...]
) -> None:
    done = person.run(*command, PATH=path_without_tmux)
    assert_one_line(done, 4, "tmux is not installed", "apt install tmux")
    assert_untouched(person)


@pytest.mark.contract("S1")
@pytest.mark.parametrize("command", [START, (*ASK, "hello")])
def test_a_tmux_that_is_too_old_is_told_with_both_versions(
    person: Person, program: Callable[..., Path], command: tuple[str, ...]
) -> None:
    old = program("tmux", "#!/bin/sh\necho tmux 2.9\n")
    done = person.run(*command, PATH=f"{old}:{person.environment['PATH']}")
    assert_one_line(done, 4, "tmux 2.9 is too old", "3.2")
    assert_untouched(person)


@pytest.mark.parametrize("command", [START, (*ASK, "hello")])
@pytest.mark.parametrize(
    ("directory", "problem"), [("missing", "does not exist"), ("file", "is not a directory"), ("", "working directory")]
)
def test_a_working_directory_that_will_not_do_is_refused(
    person: Person, command: tuple[str, ...], directory: str, problem: str
) -> None:
    (person.root / "file").touch()
    done = person.run(*command, "--directory", f"{person.root}/{directory}" if directory else "/proc/self/cmdline/x")
    assert_one_line(done, 2, "working directory", problem)
    assert_untouched(person)


@as_root
def test_a_working_directory_that_is_not_writable_is_refused(person: Person) -> None:
    person.root.chmod(0o755)
    person.work.chmod(0o755)
    done = person.run(*START, prefix=NOBODY, PYTHONDONTWRITEBYTECODE="1")
    assert_one_line(done, 2, "working directory", "is not writable")
    assert_untouched(person)


@pytest.mark.parametrize(
    ("stdin", "prompt", "problem"),
    [
        (b"", "", "the prompt is empty"),
        (b"", " \n\t", "the prompt is empty"),
        (b"", "-", "the prompt is empty"),
        (b"\xff\xfe", "-", "not valid UTF-8"),
        (b"", os.fsdecode(b"caf\xe9"), "not valid UTF-8"),
    ],
)
def test_a_prompt_that_no_session_could_take_is_refused(
    person: Person, stdin: bytes, prompt: str, problem: str
) -> None:
    assert_one_line(person.run(*ASK, prompt, stdin=stdin), 2, problem)
    assert_one_line(person.run("session", "send", "s-1", prompt, stdin=stdin), 2, problem)
    assert_untouched(person)


def test_an_endpoint_without_its_key_is_refused(person: Person) -> None:
    for more in ((), ("--model-key-variable", "NOT_SET")):
        done = person.run(*START, "--model-endpoint", "http://127.0.0.1:1", *more)
        assert_one_line(done, 2, "--model-key-variable")
    assert_untouched(person)


@pytest.mark.parametrize("sleep", ["", "20", "-1s", "0s", "2h", "inf", "nan", "soon"])
def test_a_sleep_that_is_no_bounded_time_is_a_usage_error(person: Person, sleep: str) -> None:
    done = person.run(
        *("test", "coding-agent-chat-e2e", "--provider", "scripted", "--model-server", "scripted", "--sleep", sleep)
    )
    assert done.status == 2
    assert done.err.startswith("mcp-agent: Invalid value: ")
    assert done.err.count("\n") == 1
    assert_untouched(person)


@pytest.mark.parametrize(
    "arguments", [("ask",), ("ask", "x"), ("nothing",), ("session", "show"), ("--bad",), ("test", "x"), ("server", "x")]
)
def test_a_command_line_that_says_nothing_of_ours_is_a_usage_error(person: Person, arguments: tuple[str, ...]) -> None:
    done = person.run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert_untouched(person)


@pytest.mark.parametrize(
    "command", [("session", "show"), ("session", "stop"), ("session", "interrupt"), ("session", "send")]
)
def test_an_unknown_session_is_told_with_where_to_look(person: Person, command: tuple[str, ...]) -> None:
    more = ("hello",) if command[1] == "send" else ()
    assert_one_line(person.run(*command, "s-0", *more), 2, "no session s-0", "mcp-agent session list")


EVERY_COMMAND = [
    START,
    (*ASK, "hello"),
    ("session", "list"),
    ("session", "show", "s-0"),
    ("server", "status"),
    ("server", "stop"),
    ("serve", "--detach"),
]


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_a_state_directory_that_is_a_file_is_refused(person: Person, command: tuple[str, ...]) -> None:
    person.home.write_text("precious")
    assert_one_line(person.run(*command), 2, str(person.home))
    assert person.home.read_text() == "precious"


@as_root
@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_a_state_directory_of_another_user_is_refused(person: Person, command: tuple[str, ...]) -> None:
    person.home.mkdir(mode=0o700)
    for directory in (person.root, person.work):
        directory.chmod(0o777)
    done = person.run(*command, prefix=NOBODY, PYTHONDONTWRITEBYTECODE="1")
    assert_one_line(done, 2, str(person.home))
    assert list(person.home.iterdir()) == []


@as_root
@pytest.mark.parametrize("command", [START, (*ASK, "hello"), ("serve", "--detach")])
def test_a_state_directory_that_cannot_be_written_is_refused(person: Person, command: tuple[str, ...]) -> None:
    for directory in (person.root, person.work):
        directory.chmod(0o777)
    person.home.mkdir(mode=0o500)
    shutil.chown(person.home, 65534, 65534)
    assert_one_line(person.run(*command, prefix=NOBODY, PYTHONDONTWRITEBYTECODE="1"), 2, str(person.home))
    assert list(person.home.iterdir()) == []


@as_root
def test_a_state_directory_that_cannot_be_made_is_refused(person: Person) -> None:
    person.root.chmod(0o755)
    person.work.chmod(0o777)
    assert_one_line(person.run(*START, prefix=NOBODY, PYTHONDONTWRITEBYTECODE="1"), 2, str(person.home))
    assert_untouched(person)


def test_a_configuration_that_cannot_be_used_is_told_with_its_line(person: Person) -> None:
    config = person.root / "user/.config/mcp-agent/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[timeouts]\nmcp_tool = 90\n")
    done = person.run(*START)
    assert_one_line(done, 2, "config.toml", "line 2")


def test_a_home_that_names_nobody_is_refused(person: Person) -> None:
    assert_one_line(person.run("session", "list", MCP_AGENT_HOME="~nobody-at-all/x"), 2, "MCP_AGENT_HOME")


def test_a_reader_that_leaves_is_no_trouble(person: Person) -> None:
    for command in ("session list", "server status", "timeouts", "--help", "session list --json"):
        piped = f"{COMMAND} {command} | head -c 0; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", piped], env=person.environment, cwd=person.work, capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        assert done.returncode in {0, 1, 141}


def test_what_nobody_foresaw_is_one_line_and_its_traceback_is_in_the_log(person: Person) -> None:
    broken = person.root / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import mcp_agent.registry\ndef load(name):\n    raise ZeroDivisionError\nmcp_agent.registry.load = load\n"
    )
    done = person.run(*START, PYTHONPATH=str(broken))
    assert_one_line(done, 1, "something went wrong in mcp-agent itself", str(person.home / "cli.log"))
    assert "ZeroDivisionError" in (person.home / "cli.log").read_text()
    assert (person.home / "cli.log").stat().st_mode & 0o077 == 0


def test_the_command_line_waits_for_no_server_side_library(person: Person) -> None:
    program = "import json, sys, mcp_agent.cli.main; print(json.dumps(sorted(sys.modules)))"
    python = COMMAND.replace("/mcp-agent", "/python")
    done = subprocess.run([python, "-c", program], env=person.environment, capture_output=True, text=True, check=True)
    assert {"fastapi", "uvicorn", "starlette", "libtmux", "mcp", "trio"}.isdisjoint(json.loads(done.stdout))


@pytest.mark.parametrize("session", ["nope", "s-1/stop?", "a?b", "s-" + "a" * 100_000])
def test_what_is_no_session_id_is_refused_before_anything_is_asked(person: Person, session: str) -> None:
    for command in ("show", "stop", "interrupt"):
        assert_one_line(person.run("session", command, session), 2, "no session")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--allow-tool", "nosuch_tool"), ("nosuch_tool", "execute_shell_command")),
        (("--model-endpoint", "http://127.0.0.1:9/v1", "--model-key-variable", "HOME"), ("scheme://host:port",)),
        (("--model-endpoint", "ftp://x y", "--model-key-variable", "HOME"), ("scheme://host:port",)),
        (("--model-endpoint", "http://127.0.0.1:9", "--model-key-variable", "NOSUCH"), ("NOSUCH is not set",)),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    person: Person, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_one_line(person.run(*START, *options), 2, *words)


def test_an_error_is_json_too_for_who_asked_for_it(person: Person) -> None:
    done = person.run("session", "show", "nope", "--json")
    assert done.json["error"] == {
        "kind": "UnknownSession",
        "message": "no session nope; see `mcp-agent session list`",
        "exit_code": 2,
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("session", "lst"), ("No such command 'lst'", "`mcp-agent session --help`")),
        (("session", "ask"), ("Missing argument 'SESSION'", "`mcp-agent session ask --help`")),
        (("ask", "x", "--provider", "scripted", "--deadline", "0"), ("--deadline 0", "more than 0s")),
        (("calls", "list", "--nothing"), ("--nothing", "`mcp-agent calls list --help`")),
    ],
)
def test_a_command_line_that_cannot_be_read_is_one_line_and_one_json_object(
    person: Person, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_one_line(person.run(*arguments), 2, *words)
    told = person.run(*arguments, "--json")
    assert (told.status, told.err.count("\n")) == (2, 1)
    assert told.json["error"]["kind"] == "UsageError"
    assert told.json["error"]["exit_code"] == 2
    assert_untouched(person)


def test_a_command_without_anything_prints_its_help(person: Person) -> None:
    done = person.run("session")
    assert (done.status, done.err) == (2, "")
    assert "Usage: mcp-agent session" in done.out


@pytest.mark.parametrize("more", [(), ("--model-endpoint", "http://127.0.0.1:1")])
def test_a_variable_that_names_no_key_is_told(person: Person, more: tuple[str, ...]) -> None:
    done = person.run(*START, "--model-key-variable", "NO_SUCH_KEY", *more)
    assert_one_line(done, 2, "--model-key-variable")
    assert_untouched(person)
