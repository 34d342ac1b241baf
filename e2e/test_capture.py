"""The pinned programs still draw the screens that are kept, as far as a first dialog tells."""

import subprocess
import sys
from pathlib import Path

import pytest

from e2e.place import ROOT
from mcp_agent.tmux.screen import read_screen

KEPT = ROOT / "tests/adapters/screens"

pytestmark = pytest.mark.real_cli


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    ("provider", "name"), [("claude-code", "90-trust"), ("codex-cli", "90-trust"), ("pi-cli", "72-project-trust")]
)
def test_the_trust_dialog_is_drawn_as_it_was(provider: str, name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "e2e.capture", provider, "--scene", "trust", "--columns", "80"]
    subprocess.run([*command, "--into", tmp_path], cwd=ROOT, check=True, timeout=60)

    assert lines(tmp_path / f"{name}-80.ansi.txt") == lines(KEPT / provider / f"{name}-80.ansi.txt")


def lines(path: Path) -> list[str]:
    shown, _ = read_screen(path.read_text(encoding="utf-8").split("\n"))
    return [line for line in shown if line]
