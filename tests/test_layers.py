"""The layers hold because breaking one fails: each test breaks a copy of the source and runs the real checks on it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHECKER = ROOT / "tests/layers.py"
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The source of this project, free to be broken."""
    for name in ("mcp_agent", "adapters"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def check(root: Path) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, str(CHECKER), str(root), cwd=root)


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    return run(str(LINT_IMPORTS), "--no-cache", cwd=root)


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_source_as_it_is_passes(copy: Path) -> None:
    checked = check(copy)

    assert (checked.returncode, checked.stdout) == (0, ""), checked.stderr


@pytest.mark.parametrize(
    "line",
    [
        "CLI = 'Claude'",
        "def read_claude_screen() -> None: ...",
        "class ClaudeCode: ...",
        "# what Anthropic documents",
        "ids = ['codex-cli']",
        "from openai import Client",
        "OPENAI_API_KEY = ''",
        "path = '.config/cursor-agent'",
        "title = 'Cursor CLI'",
        "name = 'pi_cli'",
    ],
)
def test_a_providers_name_in_the_core_fails(copy: Path, line: str) -> None:
    (copy / "mcp_agent/tools/extra.py").write_text(f'"""A module."""\n\n{line}\n')

    checked = check(copy)

    assert checked.returncode == 1
    assert "mcp_agent/tools/extra.py:3: a provider's word" in checked.stdout


def test_a_file_named_for_a_provider_fails(copy: Path) -> None:
    (copy / "mcp_agent/sessions/codex_cli.py").write_text('"""A module."""\n')

    checked = check(copy)

    assert checked.returncode == 1
    assert "mcp_agent/sessions/codex_cli.py: the file's name" in checked.stdout


def test_the_names_of_an_adapter_installed_from_elsewhere_are_found_too(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_adapter_of_someone_else(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    (copy / "mcp_agent/tools/extra.py").write_text("title = 'Acme Coder'\nkey = 'CODER_TOKEN'\n")

    checked = check(copy)

    assert "extra.py:1: a provider's word: 'Acme Coder'" in checked.stdout
    assert "extra.py:2: a provider's word: 'CODER_TOKEN'" in checked.stdout


def install_adapter_of_someone_else(site: Path) -> None:
    attributes = "id='acme-coder', title='Acme Coder', executable='acme', credential_names=('CODER_TOKEN',)"
    metadata = site / "acme-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[mcp_agent.adapters]\nacme-coder = acme_coder:ADAPTER\n")
    (site / "acme_coder.py").write_text(f"from types import SimpleNamespace\nADAPTER = SimpleNamespace({attributes})\n")


def test_a_terminals_cursor_and_the_number_pi_are_ordinary_words(copy: Path) -> None:
    (copy / "mcp_agent/tools/extra.py").write_text("cursor_row, api_client, circle = 3, 'scripted', math.pi\n")

    assert check(copy).returncode == 0


@pytest.mark.contract("B1")
@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("import httpx", "httpx"),
        ("import anyio.abc", "anyio.abc"),
        ("from mcp_agent.errors import McpAgentError", "mcp_agent.errors"),
        ("import mcp_agent.bridges", "mcp_agent.bridges"),
        ("def late() -> None:\n    import psutil", "psutil"),
        ("from ..errors import McpAgentError", "..errors"),
    ],
)
def test_a_foreign_import_in_the_bridge_fails(copy: Path, line: str, module: str) -> None:
    (copy / "mcp_agent/bridge/extra.py").write_text(f"{line}\n")

    checked = check(copy)

    assert checked.returncode == 1
    assert f"not in the standard library: {module}\n" in checked.stdout


def test_the_bridge_may_import_the_standard_library_and_its_siblings(copy: Path) -> None:
    (copy / "mcp_agent/bridge/extra.py").write_text("import json\nfrom urllib.parse import quote\n")
    (copy / "mcp_agent/bridge/other.py").write_text("import mcp_agent.bridge.extra\nfrom . import extra\n")

    assert check(copy).returncode == 0


def test_the_imports_as_they_are_go_one_way(copy: Path) -> None:
    linted = lint_imports(copy)

    assert linted.returncode == 0, linted.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("mcp_agent/tools/extra.py", "import adapters", "The core never imports an adapter"),
        ("mcp_agent/errors.py", "import mcp_agent.cli", "Imports go one way"),
        ("adapters/extra.py", "import mcp_agent.tmux", "Adapters see the protocol and nothing else of ours"),
    ],
)
def test_an_import_against_the_layers_fails(copy: Path, module: str, line: str, broken: str) -> None:
    with (copy / module).open("a") as file:
        file.write(f"\n{line}\n")

    linted = lint_imports(copy)

    assert linted.returncode == 1
    assert f"{broken} BROKEN" in linted.stdout
