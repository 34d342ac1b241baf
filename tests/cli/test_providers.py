"""`mcp-agent providers`, with adapters installed as a package manager installs them, and with those of this project."""

import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from typer.testing import CliRunner, Result

from mcp_agent.cli.provider_facts import ProviderFacts, facts_of
from mcp_agent.cli.providers import providers_app
from mcp_agent.errors import CannotRunHere, CliNotInstalled, CliUnusable, UnknownAdapter
from mcp_agent.registry import load

SECRET = "key-5b1f0c27-that-nobody-may-see"

ADAPTERS = """
from datetime import timedelta
from types import SimpleNamespace
from mcp_agent.adapter import LiveInput
from mcp_agent.timeouts import ClientCeiling, McpTimeoutSetting

def adapter(id, **facts):
    ours = dict(
        id=id, title=f"Agent {id}", executable=f"{id}-cli", install_hint=f"fetch {id}", tested_versions=("1.2.3",),
        unverified=None,
        credential_names=("ONE_KEY", "ANOTHER_KEY"), client_ceiling=None, live_input=LiveInput.SAME_TURN, lacks={},
        permission_modes=("ask", "never"), parse_version=lambda output: output.strip() or None,
        mcp_timeout=lambda limit: McpTimeoutSetting("WAIT", "ms", limit // timedelta(milliseconds=1)),
    )
    return SimpleNamespace(**ours | facts)

ONE = adapter("one")
TWO = adapter(
    "two", tested_versions=(), credential_names=(), permission_modes=(), mcp_timeout=lambda limit: None,
    client_ceiling=ClientCeiling(timedelta(seconds=60), "verified"), live_input=LiveInput.NEXT_TURN,
    lacks={"usage": "it never says"}, unverified="nobody saw its screens",
)
"""

Install = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def installed_adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Only the adapters of this file are found in this process, and only programs that a test installs."""
    (tmp_path / "provided_adapters.py").write_text(ADAPTERS)
    metadata = tmp_path / "mcp_agent_sessions-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp-agent-sessions\nVersion: 0.1.0\n")
    entry_points = metadata / "entry_points.txt"
    entry_points.write_text("[mcp_agent.adapters]\none = provided_adapters:ONE\ntwo = provided_adapters:TWO\n")
    (tmp_path / "bin").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "provided_adapters", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("ONE_KEY", raising=False)
    monkeypatch.delenv("ANOTHER_KEY", raising=False)
    return entry_points


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Puts a program on PATH."""

    def put(name: str, text: str) -> Path:
        path = tmp_path / "bin" / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    return put


def run(*arguments: str) -> Result:
    return CliRunner().invoke(providers_app, arguments)


def listed(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found = json_of(result)
    return {provider["id"]: provider for provider in found["providers"]}


def json_of(result: Result) -> Any:
    return json.loads(result.stdout)


def test_every_fact_of_every_provider_is_listed_for_programs(install: Install) -> None:
    path = install("one-cli", "#!/bin/sh\necho 1.2.3\n")

    found = listed("list")

    assert found["one"] == {
        "id": "one",
        "title": "Agent one",
        "executable": str(path),
        "installed": True,
        "usable": True,
        "problem": None,
        "install_hint": "fetch one",
        "version": "1.2.3",
        "tested_versions": ["1.2.3"],
        "unverified": None,
        "warnings": [],
        "credentials": {"ONE_KEY": False, "ANOTHER_KEY": False},
        "mcp_timeout": {"setting": "WAIT", "unit": "ms", "value": 5_400_000},
        "client_ceiling": None,
        "live_input": "same_turn",
        "permission_modes": ["ask", "never"],
        "lacks": {},
    }
    two = found["two"]
    assert (two["installed"], two["usable"], two["version"], two["mcp_timeout"]) == (False, False, None, None)
    assert two["lacks"] == {"usage": "it never says"}
    assert two["unverified"] == "nobody saw its screens"
    assert two["client_ceiling"] == {"limit_seconds": 60.0, "progress_extends": "verified"}


def test_people_read_one_block_for_each_provider(install: Install) -> None:
    install("one-cli", "#!/bin/sh\necho 1.2.3\n")

    one, two = run("list").stdout.split("\n\n")

    assert one.splitlines() == [
        "one  Agent one",
        "  version           1.2.3 (tested with 1.2.3)",
        "  login             none of 2 variables is set, such as ONE_KEY; a login of the CLI's own may serve",
        "  MCP timeout       WAIT=5400000 (ms)",
        "  client ceiling    none of its own",
        "  live input        same turn",
        "  permission modes  ask, never",
        "  lacks             nothing",
    ]
    assert two.splitlines() == [
        "two  Agent two",
        "  version           not installed: fetch two",
        "  login             by no variable; by a login of the CLI's own, where it needs one",
        "  MCP timeout       not set: the CLI is told none",
        "  client ceiling    1m for each MCP call; progress extends it",
        "  live input        next turn",
        "  permission modes  none: there is nothing to choose",
        "  lacks             usage: it never says",
        "  not verified      nobody saw its screens",
    ]


def test_the_bare_command_lists() -> None:
    assert run().stdout == run("list").stdout
    assert run("--json").stdout == run("list", "--json").stdout


def test_a_form_that_would_be_ignored_is_a_usage_error() -> None:
    assert run("--json", "list").exit_code == 2


def test_a_version_outside_the_tested_ones_is_a_warning_and_no_refusal(install: Install) -> None:
    install("one-cli", "#!/bin/sh\necho 9.0.0\n")
    told = "warning: Agent one: version 9.0.0 is installed; tested with 1.2.3\n"

    assert (run("check", "one").exit_code, run("check", "one").stderr) == (0, told)
    assert run("list").stderr == told
    assert listed()["one"]["warnings"] == ["Agent one: version 9.0.0 is installed; tested with 1.2.3"]


def test_a_version_that_cannot_be_read_is_a_warning(install: Install) -> None:
    install("one-cli", "#!/bin/sh\n")

    result = run("check", "one")

    assert result.exit_code == 0
    assert "unknown version" in result.stdout
    assert "a version that could not be read is installed" in result.stderr


def test_any_version_will_do_where_none_is_named(install: Install) -> None:
    install("two-cli", "#!/bin/sh\necho 7\n")

    assert listed()["two"]["warnings"] == []
    assert "7 (any will do)" in run("list").stdout


@pytest.mark.contract("A2")
def test_a_credential_is_named_and_never_shown(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("one-cli", "#!/bin/sh\necho 1.2.3\n")
    monkeypatch.setenv("ANOTHER_KEY", SECRET)

    assert listed()["one"]["credentials"] == {"ONE_KEY": False, "ANOTHER_KEY": True}
    assert "login             ANOTHER_KEY is set" in run("list").stdout
    for result in (run("list"), run("list", "--json"), run("check", "one"), run("check", "one", "--json")):
        assert SECRET not in result.output


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE_KEY", "")

    assert listed()["one"]["credentials"]["ONE_KEY"] is False


@pytest.mark.contract("A3")
def test_the_program_sees_no_credential_and_no_directory_of_the_callers(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    install("one-cli", f"#!/bin/sh\n(pwd; env) > {seen}\necho 1.2.3\n")
    monkeypatch.setenv("ONE_KEY", SECRET)
    monkeypatch.setenv("SOMETHING_ELSE", "of mine")
    monkeypatch.chdir(tmp_path)

    assert run("check", "one").exit_code == 0

    directory, *environment = seen.read_text().splitlines()
    assert directory == "/"
    assert {line.partition("=")[0] for line in environment} >= {"PATH"}
    assert not [line for line in environment if line.startswith(("ONE_KEY", "SOMETHING_ELSE"))]


def test_a_cli_that_is_not_installed_exits_4_and_says_how_to_install_it() -> None:
    result = run("check", "one")

    assert isinstance(result.exception, CliNotInstalled)
    assert result.exception.exit_code == 4
    assert "fetch one" in str(result.exception)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("#!/bin/sh\nexit 7\n", "failed with status 7"),
        ("#!/nowhere/interpreter\n", "does not start: No such file or directory"),
        ("\0not a program", "does not start: Exec format error"),
    ],
)
def test_a_program_that_does_not_run_is_installed_and_not_usable(install: Install, text: str, problem: str) -> None:
    install("one-cli", text)

    result = run("check", "one")

    assert isinstance(result.exception, CliUnusable)
    assert result.exception.exit_code == 4
    assert problem in str(result.exception)
    assert (listed()["one"]["installed"], listed()["one"]["usable"]) == (True, False)
    assert problem in run("list").stdout


@pytest.mark.anyio
async def test_a_program_that_does_not_answer_is_not_waited_for(install: Install, tmp_path: Path) -> None:
    install("one-cli", f"#!/bin/sh\necho $$ > {tmp_path / 'pid'}\nexec sleep 600\n")

    facts = await asked("one", answers_within=timedelta(seconds=2))

    assert isinstance(facts.problem, CannotRunHere)
    assert "gave no answer within 2s" in str(facts.problem)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.anyio
async def test_what_a_program_leaves_behind_is_not_waited_for(install: Install, tmp_path: Path) -> None:
    install("one-cli", f"#!/bin/sh\nsleep 600 &\necho $! > {tmp_path / 'pid'}\necho 1.2.3\n")

    facts = await asked("one", answers_within=timedelta(seconds=60))
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

    assert (facts.version, facts.problem) == ("1.2.3", None)


async def asked(provider: str, *, answers_within: timedelta) -> ProviderFacts:
    with anyio.fail_after(90):
        return await facts_of(load(provider), os.environ, mcp_call=timedelta(minutes=90), answers_within=answers_within)


def test_the_limit_in_force_is_the_one_that_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODING_AGENT_MCP_TOOL_TIMEOUT", "2h")
    assert listed()["one"]["mcp_timeout"]["value"] == 7_200_000

    monkeypatch.setenv("CODING_AGENT_MCP_TOOL_TIMEOUT", "90")
    assert run("list").stderr.startswith("warning: CODING_AGENT_MCP_TOOL_TIMEOUT: '90' has no unit")


def test_an_adapter_that_cannot_be_loaded_hides_no_other(installed_adapters: Path) -> None:
    with installed_adapters.open("a") as file:
        file.write("broken = provided_adapters:NOTHING\n")

    result = run("list")

    assert result.exit_code == 0
    assert "Agent two" in result.stdout
    assert result.stderr.startswith("problem: adapter broken")
    assert len(json_of(run("--json"))["problems"]) == 1


def test_an_unknown_provider_is_a_usage_error() -> None:
    result = run("check", "nobody")

    assert isinstance(result.exception, UnknownAdapter)
    assert result.exception.exit_code == 2


def test_the_installed_command_knows_the_providers_of_this_project(person: Any) -> None:
    found = {one["id"]: one for one in person.run("providers", "--json").json["providers"]}
    absent = next(name for name, facts in found.items() if not facts["installed"])

    usable, missing = person.run("providers", "check", "scripted"), person.run("providers", "check", absent, "--json")

    assert usable.status == 0
    assert (missing.status, missing.json["error"]["kind"]) == (4, "CliNotInstalled")
    assert person.processes() == []
