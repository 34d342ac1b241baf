"""Commands whose call directory is on a full disk: they end, and how they ended is told."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys
from pathlib import Path

import anyio

from mcp_agent.errors import ToolError
from mcp_agent.tools import call_files
from mcp_agent.tools.shell import ExecuteShellCommand
from mcp_agent.tools.tool import CallContext

disk, command = Path(sys.argv[1]), sys.argv[2]
context = CallContext("call_1", "s-full", disk / "call_1", Path("/"), {"PATH": "/usr/bin:/bin"}, None)
tool = ExecuteShellCommand()
try:
    print(anyio.run(tool.run, context, tool.validate({"command": command})).text)
except ToolError as error:
    print(f'{{"refused": "{error}"}}')
else:
    assert call_files.read_exit(context.call_directory)
print(*sorted(path.name for path in context.call_directory.iterdir()))
"""

IN_A_NAMESPACE = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
WITH_A_DISK = 'mount -t tmpfs -o size="$1" tmpfs "$2" && { [ -z "$3" ] || cp "$3" "$2"/filler; shift 3; exec "$@"; }'


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    if (
        sys.platform != "linux"
        or subprocess.run([*IN_A_NAMESPACE, "mount -t tmpfs tmpfs /mnt"], check=False).returncode
    ):
        pytest.skip("no file system can be mounted here")


def run(tmp_path: Path, command: str, *, filler_bytes: int = 0) -> tuple[dict[str, Any], list[str]]:
    """The answer of a command on a disk of its own of 3 MiB, and the files that are left of its call."""
    disk, filler = tmp_path / "disk", tmp_path / "filler"
    disk.mkdir()
    filler.write_bytes(b"x" * filler_bytes)
    program = [sys.executable, "-c", PROGRAM, str(disk), command]
    done = subprocess.run(
        [*IN_A_NAMESPACE, WITH_A_DISK, "sh", "3m", disk, filler if filler_bytes else "", *program],
        check=True,
        stdout=subprocess.PIPE,
        timeout=60,
    )
    answer, names = done.stdout.decode().splitlines()
    return json.loads(answer), names.split()


@pytest.mark.contract("W6")
def test_a_command_that_fills_the_disk_with_its_output_ends_and_its_end_is_shown(tmp_path: Path) -> None:
    answer, names = run(tmp_path, "echo begin; head -c 20000000 /dev/zero | tr '\\0' x; echo end; exit 3")
    assert (answer["ended"], answer["exit_status"]) == ("exited", 3)
    assert answer["capture_error"] == "No space left on device"
    assert answer["stdout"].startswith("begin\nxxx")
    assert answer["stdout"].endswith("xxxend\n")
    shown = answer["stdout"].replace(f"\n[... {answer['stdout_omitted_bytes']} bytes omitted ...]\n", "")
    assert len(shown) + answer["stdout_omitted_bytes"] == 20_000_000 + len("begin\nend\n")
    assert names == ["exit.json", "spec.json", "stderr", "stdout", "supervisor.json", "supervisor.log"]


def test_a_command_that_fills_the_disk_by_itself_ends_with_its_own_status(tmp_path: Path) -> None:
    answer, _ = run(tmp_path, f"cat /dev/zero > {tmp_path}/disk/full; echo end; exit 4")
    assert (answer["ended"], answer["exit_status"]) == ("exited", 4)
    assert answer["stdout"] == "\n[... 4 bytes omitted ...]\n"
    assert answer["capture_error"] == "No space left on device"


@pytest.mark.contract("W7")
def test_a_call_that_a_full_disk_cannot_hold_is_refused_in_one_line(tmp_path: Path) -> None:
    answer, names = run(tmp_path, "true", filler_bytes=3 << 20)
    assert answer == {"refused": "the call was not started: No space left on device"}
    assert names == []


@pytest.mark.parametrize("free_pages", [1, 2, 3, 4, 5, 6])
def test_a_disk_that_is_almost_full_gives_a_known_end_or_a_refusal(tmp_path: Path, free_pages: int) -> None:
    answer, _ = run(tmp_path, "exit 5", filler_bytes=(3 << 20) - 4096 * free_pages)
    assert "refused" in answer or answer["exit_status"] == 5 or answer["ended"] == "not_started"
