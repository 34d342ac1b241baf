"""What is run on this project; CI and `./dev` run the same sessions, in the environment that they are started from."""

import os
import sys
from pathlib import Path

import nox

HERE = Path(__file__).parent
BINARIES = (HERE / ".toolchain/bin", HERE / "e2e/cursor_emulator/bin", Path(sys.executable).parent)

os.environ["PATH"] = os.pathsep.join([*map(str, BINARIES), os.environ["PATH"]])

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "layers", "tests", "e2e"]

SIDE_BY_SIDE = "--numprocesses=4"
"""Most tests wait for other processes most of the time; `-n 0` among a person's own arguments runs one at a time."""

NO_TESTS_SELECTED = 5
"""pytest's exit code; not a failure when a person's own arguments selected the tests."""


@nox.session
def lint(session: nox.Session) -> None:
    """Style and formatting."""
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """mypy, strict, tests included."""
    session.run("mypy")


@nox.session
def layers(session: nox.Session) -> None:
    """Imports go one way, the core names no provider, the bridge needs nothing installed."""
    session.run("lint-imports")
    session.run("python", "tests/layers.py")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests of every module, with coverage."""
    run_pytest(session, "tests", SIDE_BY_SIDE, "-m", "not long", "--cov", "--cov-report=term:skip-covered")


@nox.session
def e2e(session: nox.Session) -> None:
    """The installed commands as a black box, the real CLIs against the scripted model."""
    run_pytest(session, "e2e", "--numprocesses=2", "-m", "not long")


@nox.session
def long(session: nox.Session) -> None:
    """Full counts and long silences."""
    options = ("-m", "long or hypothesis", "--hypothesis-profile=long", "--timeout=1800")
    session.run("pytest", "tests", "e2e", *options, *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Every benchmark; `-- --check` compares with the promised bounds."""
    for benchmark in sorted(Path("benchmarks").glob("bench_*.py")):
        session.run("python", str(benchmark), *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """A real agent CLI in tmux against the scripted model."""
    session.run("./dev", "demo", *session.posargs)


def run_pytest(session: nox.Session, folder: str, *options: str) -> None:
    """Run one folder's tests, or those of the paths given that lie in it."""
    paths = [argument for argument in session.posargs if is_test_path(argument)]
    mine = [path for path in paths if Path(path).parts[0] == folder]
    if paths and not mine:
        session.skip(f"no path below {folder}/ was given")
    chosen = [argument for argument in session.posargs if argument not in paths]
    codes = [0, NO_TESTS_SELECTED] if chosen else [0]
    session.run("pytest", *options, *chosen, *(mine or [folder]), success_codes=codes)


def is_test_path(argument: str) -> bool:
    """True for an existing file or folder of tests, with or without a test's name behind it."""
    path = Path(argument.partition("::")[0])
    return not argument.startswith("-") and path.parts[:1] in {("tests",), ("e2e",)} and path.exists()
