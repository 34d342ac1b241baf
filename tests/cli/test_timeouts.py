"""`mcp-agent timeouts`, with adapters installed as a package manager installs them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from mcp_agent.cli.timeouts import timeouts
from mcp_agent.config import config_path
from mcp_agent.errors import UnknownAdapter

MCP, TOOL = "CODING_AGENT_MCP_TOOL_TIMEOUT", "TOOL_EXECUTION_TIMEOUT"

ADAPTERS = """
from datetime import timedelta
from types import SimpleNamespace
from mcp_agent.timeouts import ClientCeiling, McpTimeoutSetting, ProviderLimits

MILLISECONDS = SimpleNamespace(
    id="in-milliseconds", title="Agent | one", limits=ProviderLimits(), client_ceiling=None,
    mcp_timeout=lambda limit: McpTimeoutSetting("ONE_LIMIT", "ms", limit // timedelta(milliseconds=1)),
)
SECONDS = SimpleNamespace(
    id="in-seconds", title="Agent two", client_ceiling=None,
    limits=ProviderLimits(prompt_ready_inactivity=timedelta(minutes=10), prompt_ready_absolute=timedelta(minutes=90)),
    mcp_timeout=lambda limit: McpTimeoutSetting("two.limit", "s", limit // timedelta(seconds=1)),
)
CUT = SimpleNamespace(
    id="cut", title="Agent three", limits=ProviderLimits(),
    client_ceiling=ClientCeiling(timedelta(seconds=60), "unknown"), mcp_timeout=lambda limit: None,
)
"""


@pytest.fixture(autouse=True)
def installed_adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the adapters of this file are found: a distribution hides a later one of the same name."""
    (tmp_path / "timed_adapters.py").write_text(ADAPTERS)
    metadata = tmp_path / "mcp_agent_sessions-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp-agent-sessions\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[mcp_agent.adapters]\n"
        "in-milliseconds = timed_adapters:MILLISECONDS\n"
        "in-seconds = timed_adapters:SECONDS\n"
        "cut = timed_adapters:CUT\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "timed_adapters", raising=False)


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(timeouts)
    return CliRunner().invoke(app, arguments)


def layers(*arguments: str) -> list[dict[str, Any]]:
    result = run("--json", *arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert list(found) == ["layers"]
    return list(found["layers"])


def effective(found: list[dict[str, Any]], layer: str, provider: str, tool_class: str | None = None) -> Any:
    key = (layer, provider, tool_class)
    (row,) = [row for row in found if (row["layer"], row["provider"], row["tool_class"]) == key]
    return row["effective_seconds"]


@pytest.mark.contract("T1")
def test_json_holds_every_layer_of_every_installed_provider() -> None:
    found = layers()
    assert {row["provider"] for row in found} == {"cut", "in-milliseconds", "in-seconds"}
    assert len(found) == 3 * 9
    assert all(
        set(row)
        == {
            *("layer", "owner", "provider", "tool_class", "configured_seconds", "effective_seconds"),
            *("setting", "unit", "source", "configurable", "on_fire"),
        }
        for row in found
    )


@pytest.mark.contract("T1", "T3", "T5")
def test_json_shows_each_providers_own_limits_and_units() -> None:
    found = layers()
    units = {row["provider"]: row["unit"] for row in found if row["layer"] == "mcp_call"}
    assert units == {"in-milliseconds": "ms", "in-seconds": "s", "cut": None}
    assert effective(found, "mcp_call", "in-seconds") == 5400
    assert effective(found, "mcp_call", "cut") is None
    assert effective(found, "prompt_ready", "in-seconds") == 600
    assert effective(found, "tool_wait", "cut", "long_running") == 45
    assert effective(found, "tool_wait", "in-seconds", "long_running") == 900


@pytest.mark.contract("T2", "T8")
@pytest.mark.parametrize(
    ("text", "seconds", "warned"),
    [
        (None, 5400, False),
        ("17m", 1020, False),
        ("45s", 45, False),
        ("10s", 30, True),
        ("90", 5400, True),
        ("0", 5400, True),
        ("-1s", 5400, True),
        ("nan", 5400, True),
        ("bad", 5400, True),
    ],
)
def test_the_shared_limit_and_its_one_warning_are_shown(
    text: str | None, seconds: int, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        monkeypatch.setenv(MCP, text)
    result = run("--json")
    found = json.loads(result.stdout)["layers"]
    assert effective(found, "mcp_call", "in-milliseconds") == seconds
    assert effective(found, "bridge_http", "in-milliseconds", "long_running") == seconds - 5
    assert result.stderr.count(MCP) == result.stderr.count("\n") == (1 if warned else 0)


@pytest.mark.contract("T7")
def test_a_bound_that_is_switched_off_is_shown_as_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOOL, "0")
    assert effective(layers(), "server_tool", "cut") is None
    (line,) = [line for line in run("--markdown").stdout.splitlines() if line.startswith("| server_tool")]
    assert line.split(" | ")[2:5] == ["off", "off", "off"]
    assert "off" in run().stdout


@pytest.mark.contract("T1")
def test_the_file_is_in_force_and_named_as_the_source() -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text('[providers.cut]\nidle_retention = "1h"\n')
    rows = [row for row in layers() if row["layer"] == "idle_retention"]
    assert {row["provider"]: (row["effective_seconds"], row["source"]) for row in rows} == {
        "cut": (3600, "file"),
        "in-milliseconds": (10_800, "default"),
        "in-seconds": (10_800, "default"),
    }


@pytest.mark.contract("T1")
def test_one_provider_can_be_asked_for() -> None:
    assert {row["provider"] for row in layers("--provider", "cut")} == {"cut"}


@pytest.mark.contract("T1")
def test_an_unknown_provider_is_a_usage_error_that_names_the_installed_ones() -> None:
    result = run("--provider", "nobody")
    assert isinstance(result.exception, UnknownAdapter)
    assert result.exception.exit_code == 2
    assert str(result.exception) == "unknown provider 'nobody'; known: cut, in-milliseconds, in-seconds"


@pytest.mark.contract("T1")
def test_markdown_is_one_table_and_the_notes() -> None:
    lines = run("--markdown").stdout.splitlines()
    table = [line.replace(r"\|", "") for line in lines if line.startswith("|")]
    assert len(table) == 2 + 7
    assert {line.count("|") for line in table} == {9}
    assert r"Agent \| one" in lines[0]
    assert "- mcp_call (in-milliseconds): told to the CLI as ONE_LIMIT=5400000 (ms)" in lines
    assert (
        "- mcp_call (cut): not configurable: no MCP timeout is set for this CLI; its own bound of 1m cannot be moved,"
        " and progress is not known to extend it: tool_wait stays below it"
    ) in lines


@pytest.mark.contract("T1")
def test_people_get_a_table_after_the_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MCP, "90")
    result = run()
    assert result.exit_code == 0
    assert result.stderr == f"warning: {MCP}: '90' has no unit; write 90s or 90m; using 90m\n"
    assert "Agent two" in result.stdout
    assert MCP in result.stdout
    assert "[timeouts]" in result.stdout
    assert "not set" in result.stdout
    assert "prompt_ready (in-seconds)" in result.stdout


def test_two_forms_at_once_are_a_usage_error() -> None:
    assert run("--json", "--markdown").exit_code == 2
