"""Versions as tmux prints them, and what is too old."""

from pathlib import Path

import pytest

from mcp_agent.errors import CannotRunHere, TmuxMissing, TmuxTooOld
from mcp_agent.tmux.version import check_tmux, parse_version


@pytest.fixture
def shim(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is all of PATH."""
    monkeypatch.setenv("PATH", str(short_tmp))
    return short_tmp


def install(directory: Path, script: str) -> None:
    (directory / "tmux").write_text(f"#!/bin/sh\n{script}\n")
    (directory / "tmux").chmod(0o700)


@pytest.mark.parametrize(
    ("printed", "name", "numbers"),
    [
        ("tmux 3.3a\n", "3.3a", (3, 3)),
        ("tmux next-3.4", "next-3.4", (3, 4)),
        ("tmux openbsd-7.2", "openbsd-7.2", None),
        ("tmux 2.9a", "2.9a", (2, 9)),
        ("tmux 3.10", "3.10", (3, 10)),
        ("tmux master", "master", None),
        ("garbage", "garbage", None),
    ],
)
def test_a_version_is_read_in_every_shape(printed: str, name: str, numbers: tuple[int, int] | None) -> None:
    assert parse_version(printed) == (name, numbers)


@pytest.mark.parametrize("version", ["3.2", "3.3a", "next-3.4", "openbsd-7.2", "garbage"])
def test_a_good_or_unknown_version_is_let_pass(shim: Path, version: str) -> None:
    install(shim, f"echo 'tmux {version}'")
    assert check_tmux() == version


def test_an_old_version_is_refused_with_what_is_needed(shim: Path) -> None:
    install(shim, "echo 'tmux 3.1c'")
    with pytest.raises(TmuxTooOld, match=r"3\.1c is too old; version 3\.2"):
        check_tmux()


def test_no_tmux_is_missing(shim: Path) -> None:
    with pytest.raises(TmuxMissing):
        check_tmux()
    install(shim, "exit 127")
    with pytest.raises(TmuxMissing):
        check_tmux()


def test_a_tmux_that_cannot_start_is_none_that_this_machine_can_use(shim: Path) -> None:
    (shim / "tmux").write_text("#!/no/such/interpreter\n")
    (shim / "tmux").chmod(0o700)
    with pytest.raises(CannotRunHere, match="gave no answer") as refused:
        check_tmux()
    assert refused.value.exit_code == 4


def test_a_tmux_that_says_no_text_is_no_trouble(shim: Path) -> None:
    (shim / "tmux").write_bytes(b"#!/bin/sh\nprintf 'tmux \\377\\376 3.4'\n")
    (shim / "tmux").chmod(0o700)
    assert "3.4" in check_tmux()
