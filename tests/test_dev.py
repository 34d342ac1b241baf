"""`./dev` on machines that lack something: the real script, with programs of ours in the place of the machine's."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
POSIX = (
    "cat",
    "chmod",
    "cksum",
    "cp",
    "dirname",
    "env",
    "grep",
    "id",
    "kill",
    "ln",
    "mkdir",
    "rm",
    "sed",
    "sleep",
    "tr",
)
SESSIONS = re.findall(r"@nox\.session\ndef (\w+)", (ROOT / "noxfile.py").read_text())


class Machine:
    """A checkout and the few programs that its machine has."""

    def __init__(self, directory: Path) -> None:
        self.checkout = directory / "checkout"
        self.programs = directory / "bin"
        self.programs.mkdir(parents=True)
        self.checkout.mkdir()
        shutil.copytree(ROOT / "e2e/toolchain", self.checkout / "e2e/toolchain")
        for name in ("dev", "pyproject.toml"):
            shutil.copy(ROOT / name, self.checkout)
        for name in POSIX:
            if found := shutil.which(name):
                (self.programs / name).symlink_to(found)

    def has(self, name: str, script: str) -> None:
        program = self.programs / name
        program.unlink(missing_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    @property
    def environment(self) -> Mapping[str, str]:
        return {"PATH": str(self.programs), "HOME": str(self.checkout.parent)}

    def dev(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.checkout / "dev"), *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=60)

    @property
    def stamps(self) -> list[Path]:
        return list(self.checkout.rglob(".stamp"))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_help_names_every_session(machine: Machine) -> None:
    shown = machine.dev("help")

    assert shown.returncode == 0
    assert {session for session in SESSIONS if session not in shown.stdout} == set()


def test_contributing_names_every_session() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()

    assert len(SESSIONS) == 8
    assert {session for session in SESSIONS if f"`{session}`" not in text} == set()


def test_a_missing_tmux_is_one_line_that_says_what_to_type(machine: Machine) -> None:
    result = machine.dev("setup")

    assert result.returncode == 1
    assert result.stderr == "dev: tmux is missing. Type: apt install tmux (or: brew install tmux)\n"


def test_a_missing_tmux_is_installed_by_root_on_a_machine_that_never_listed_packages(machine: Machine) -> None:
    machine.has("id", "echo 0")
    machine.has("python3", "exit 1")
    machine.has("tmux-to-be", "echo tmux 3.3a")
    machine.has(
        "apt-get",
        f"cd {machine.programs}\ncase $1 in update) : >listed;; install) [ -e listed ] && ln -s tmux-to-be tmux;; esac",
    )

    result = machine.dev("setup")

    assert result.stderr.splitlines()[0] == "[1/4] installing tmux"
    assert "Python 3.11 or newer is missing" in result.stderr.splitlines()[1]


@pytest.mark.parametrize("version", ["2.9a", "3.1c", "next-3.1"])
def test_an_old_tmux_is_one_line_that_says_what_to_type(machine: Machine, version: str) -> None:
    machine.has("tmux", f"echo tmux {version}")

    result = machine.dev("setup")

    assert result.returncode == 1
    assert re.fullmatch(rf"dev: tmux {version} is too old: version 3\.2 or newer is needed\. Type: .*\n", result.stderr)


@pytest.mark.parametrize("version", ["3.2", "3.3a", "next-3.6", "4.0"])
def test_a_missing_python_is_one_line_that_says_what_to_type(machine: Machine, version: str) -> None:
    machine.has("tmux", f"echo tmux {version}")
    machine.has("python3", "exit 1")

    result = machine.dev("setup")

    assert result.returncode == 1
    assert re.fullmatch(r"dev: Python 3\.11 or newer is missing\. Type: .*\n", result.stderr)


def test_a_failed_step_shows_what_it_printed_and_counts_as_not_done(machine: Machine) -> None:
    machine.has("tmux", "echo tmux 3.3a")
    machine.has("python3", 'case "$*" in *--clear*) echo no space left; exit 1;; esac')

    result = machine.dev("setup")

    assert result.returncode == 1
    assert result.stderr.splitlines()[-2:] == [
        "no space left",
        "dev: this failed: making .venv. Remove .venv and try again.",
    ]
    assert machine.stamps == []


def test_an_interrupted_set_up_counts_as_not_done(machine: Machine) -> None:
    started = machine.checkout / "started"
    os.mkfifo(started)
    machine.has("tmux", "echo tmux 3.3a")
    machine.has("python3", f'case "$*" in *--clear*) echo now >{started}; exec sleep 60;; esac')
    process = subprocess.Popen(
        [str(machine.checkout / "dev"), "setup"],
        env=machine.environment,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        started.read_text()
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()

    assert process.returncode in {130, -signal.SIGINT}
    assert machine.stamps == []


def test_the_lock_file_names_no_registry() -> None:
    lock = (ROOT / "e2e/toolchain/package-lock.json").read_text()

    assert "resolved" not in lock
    assert "://" not in lock
