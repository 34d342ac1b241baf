"""CLIs that cannot be used as they are: what a person is told, and that nothing of theirs is touched."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.conftest import Model
from e2e.place import BINARIES, KEY, Done, Place

CLAUDE, CODEX, PI = "claude-code", "codex-cli", "pi-cli"
PROGRAMS = {CLAUDE: "claude", CODEX: "codex", PI: "pi"}
VERSION_LINES = {CLAUDE: "{} (Claude Code)", CODEX: "codex-cli {}", PI: "{}"}
TESTED = {CLAUDE: "2.1.332", CODEX: "0.171.0", PI: "1.6.0"}
QUIET: Mapping[str, str] = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "PI_OFFLINE": "1"}
"""Nobody's server but the one on loopback is asked."""

pytestmark = [pytest.mark.real_cli, pytest.mark.contract("S2", "S5", "A4")]


def every_provider(in_every_run: str) -> pytest.MarkDecorator:
    """All of them in long runs, and one in every run."""
    marks = {each: () if each == in_every_run else (pytest.mark.long,) for each in PROGRAMS}
    return pytest.mark.parametrize("provider", [pytest.param(each, marks=found) for each, found in marks.items()])


@every_provider(CODEX)
def test_of_a_cli_that_exits_at_once_the_last_screen_is_told(onboarded: Place, model: Model, provider: str) -> None:
    place = with_program(
        onboarded, provider, "echo cannot go on: the disk is haunted; exit 3", version=TESTED[provider]
    )
    failed = start(place, model, provider)
    assert (failed.status, failed.out) == (1, "")
    assert "exited (status 3); the end of its screen: cannot go on: the disk is haunted" in failed.err
    assert failed.err.count("\n") == 1


@every_provider(PI)
def test_a_cli_of_an_unknown_version_is_warned_of_and_used(onboarded: Place, model: Model, provider: str) -> None:
    place = with_program(onboarded, provider, f'exec {real(provider)} "$@"', version="99.9.9")
    checked = place.run("providers", "check", provider)
    assert (checked.status, "99.9.9" in checked.out + checked.err) == (0, True)
    assert TESTED[provider] in checked.out + checked.err
    started = start(place, model, provider)
    assert started.status == 0, started.err
    assert "version 99.9.9 is installed; tested with" in started.err
    assert place.run("session", "ask", started.out.strip(), "hello").out == "ECHO: hello\n"


@pytest.mark.parametrize(
    ("provider", "name", "content", "told"),
    [
        pytest.param(CODEX, ".codex/config.toml", b"# mine\r\nmodel = \r\n", "config.toml:2:9", id=CODEX),
        pytest.param(
            CLAUDE,
            ".claude/settings.json",
            b'{\n "a": 1,\n "x" 1\n}',
            "settings.json",
            id=CLAUDE,
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_configuration_that_does_not_parse_stays_and_is_named_with_its_line(
    onboarded: Place, model: Model, provider: str, name: str, content: bytes, told: str
) -> None:
    path = onboarded.root / "home" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    failed = start(onboarded, model, provider)
    assert failed.status == 1
    shown = failed.err + (onboarded.run("session", "screen", failed.out.strip()).out if failed.out.strip() else "")
    assert told in shown
    assert (provider == CODEX) or "line 3" in shown
    assert path.read_bytes() == content


@pytest.mark.long
@pytest.mark.parametrize("provider", [CODEX, PI])
def test_a_cli_without_a_login_is_blocked_and_says_what_to_do(onboarded: Place, model: Model, provider: str) -> None:
    failed = start_without_login(onboarded, model, provider)
    assert (failed.status, "blocked by a dialog (login): run the CLI once" in failed.err) == (1, True), failed.err


@pytest.mark.long
def test_claude_code_without_a_login_may_come_up_and_says_so_at_the_first_prompt(
    onboarded: Place, model: Model
) -> None:
    session = start_without_login(onboarded, model, CLAUDE).out.strip()
    failed = onboarded.run("session", "ask", session, "hello")
    assert (failed.status, "Not logged in" in failed.err) == (5, True), failed.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("provider", "reason"),
    [(CLAUDE, "read-only file system"), (CODEX, "Read-only file system"), (PI, ".pi/agent")],
    ids=PROGRAMS,
)
def test_a_home_that_cannot_be_written_is_told_in_the_clis_own_words(
    onboarded: Place, model: Model, provider: str, reason: str
) -> None:
    home = onboarded.root / "home"
    read_only = ["unshare", "--mount", "sh", "-c"]
    mounting = f"mount --bind {home} {home} && mount -o remount,ro,bind {home}"
    if subprocess.run([*read_only, mounting], capture_output=True, check=False).returncode:
        pytest.skip("nobody may mount anything here")
    words = starting(model, provider)
    failed = subprocess.run(
        [*read_only, f'{mounting} && exec "$0" "$@"', "mcp-agent", *words],
        cwd=onboarded.work,
        env={**onboarded.environment, "LOOPBACK_KEY": KEY},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (failed.returncode, failed.stderr.count("\n")) == (1, 1), failed.stderr
    session = failed.stdout.strip()
    assert reason in failed.stderr + (onboarded.run("session", "screen", session).out if session else "")
    assert [path.name for path in home.iterdir()] == [".claude.json"]


def starting(model: Model, provider: str) -> tuple[str, ...]:
    endpoint = ("--model-endpoint", model.url, "--model-key-variable", "LOOPBACK_KEY")
    return ("session", "start", "-p", provider, "--trust", *endpoint)


def start(place: Place, model: Model, provider: str) -> Done:
    return place.run(*starting(model, provider), LOOPBACK_KEY=KEY)


def start_without_login(place: Place, model: Model, provider: str) -> Done:
    quiet = (word for name in QUIET for word in ("--env", name))
    return place.run("session", "start", "-p", provider, "--trust", *quiet, ANTHROPIC_BASE_URL=model.url, **QUIET)


def with_program(place: Place, provider: str, script: str, *, version: str) -> Place:
    """The place with another program in front of the provider's, of this version."""
    program = place.root / "bin" / PROGRAMS[provider]
    program.parent.mkdir()
    line = VERSION_LINES[provider].format(version)
    program.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo '{line}' && exit\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), place.environment["PATH"]])
    return replace(place, environment={**place.environment, "PATH": path})


def real(provider: str) -> Path:
    return BINARIES[0] / PROGRAMS[provider]
