"""The chat scenario from the outside: what it reports when it cannot run, when it fails, and when it is ended."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_agent.errors import Limited, LoginInvalid, RemoteError, SessionBlocked, UnknownAdapter
from mcp_agent.scenarios import coding_agent_chat
from mcp_agent.scenarios.coding_agent_chat import run_chat
from mcp_agent.scenarios.model.server import ScriptedModel
from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.probes import PROBES, NotFollowed, Probe, ProbeFailed, require
from mcp_agent.scenarios.results import ProbeResult, Result
from mcp_agent.scenarios.workspace import PREFIX

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_agent.scenarios.chat.probe import Asks
    from mcp_agent.scenarios.probes import Chat, Evidence


@pytest.mark.anyio
@pytest.mark.contract("X1", "X2", "X3")
async def test_every_probe_passes_with_the_scripted_agent(
    options: ChatOptions, listener: Listener, probed: list[ProbeResult], short_tmp: Path
) -> None:
    report = await run_chat(options, listener)
    assert [(probe.name, probe.result, probe.reason) for probe in report.probes] == [
        (name, Result.PASSED, None) for name in PROBES
    ]
    assert (report.result, report.exit_code) == (Result.PASSED, 0)
    assert probed == report.probes
    assert all(isinstance(made := probe.evidence["checks"], int) and made > 0 for probe in report.probes)
    assert list(short_tmp.glob(f"{PREFIX}*")) == []


@pytest.mark.anyio
@pytest.mark.contract("X3")
@pytest.mark.parametrize(("status", "exit_code"), [(500, {1, 6}), (401, {1, 5}), (429, {1, 6})])
async def test_a_model_that_refuses_fails_the_run_and_the_rest_is_not_run_or_failed(
    options: ChatOptions,
    listener: Listener,
    short_tmp: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    exit_code: set[int],
) -> None:
    monkeypatch.setattr(coding_agent_chat, "ScriptedModel", Refusing(status))
    report = await run_chat(options, listener)
    results = {probe.name: probe.result for probe in report.probes}
    assert results["launch and provider proof"] is Result.FAILED
    assert report.result is Result.FAILED
    assert report.exit_code in exit_code
    assert list(short_tmp.glob(f"{PREFIX}*")) == []


class Refusing:
    """A scripted model that refuses every request."""

    def __init__(self, status: int) -> None:
        self.status = status

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[ScriptedModel]:
        async with ScriptedModel.serve() as model:
            model.refuse_with(self.status)
            yield model


async def begins(chat: Chat) -> Evidence:
    chat.session = {"id": "s-1"}
    require(True, "nothing")
    return {"session": "s-1"}


def asked(ask: Asks) -> Probe:
    """A probe about a session that there is not."""
    return Probe(ask, timedelta(minutes=1), ends_session=True)


def raises(*errors: Exception) -> Probe:
    """A probe that raises these, one each time it is tried."""
    left = list(errors)

    async def ask(chat: Chat) -> Evidence:
        raise left.pop(0)

    return asked(ask)


FAILS = ProbeFailed("not as promised")
PASSED, FAILED, NOT_RUN, _, INCONCLUSIVE = Result


@pytest.mark.anyio
@pytest.mark.contract("X3")
@pytest.mark.parametrize(
    ("errors", "results", "exit_code"),
    [
        ([FAILS], [PASSED, FAILED, PASSED], 1),
        ([NotFollowed("words")], [PASSED, FAILED, PASSED], 1),
        ([RemoteError("TmuxUnavailable", "no answer")], [PASSED, FAILED, PASSED], 1),
        ([SessionBlocked("s-1", "login", "log in", "")], [PASSED, FAILED, NOT_RUN], 1),
        ([RemoteError("TmuxMissing", "no tmux", exit_code=4)], [PASSED, FAILED, NOT_RUN], 4),
        ([LoginInvalid("expired")], [PASSED, FAILED, NOT_RUN], 5),
        ([Limited("later")], [PASSED, FAILED, NOT_RUN], 6),
        ([FAILS, Limited("later")], [PASSED, FAILED, FAILED, NOT_RUN], 1),
    ],
)
async def test_what_stops_a_run_is_told_by_its_exit_code(
    options: ChatOptions,
    listener: Listener,
    monkeypatch: pytest.MonkeyPatch,
    errors: list[Exception],
    results: list[Result],
    exit_code: int,
) -> None:
    failing = {f"probe {n}": raises(error) for n, error in enumerate(errors)}
    monkeypatch.setattr(coding_agent_chat, "PROBES", {"first": asked(begins), **failing, "last": asked(begins)})
    report = await run_chat(options, listener)
    assert [probe.result for probe in report.probes] == results
    assert report.exit_code == exit_code


@pytest.mark.anyio
@pytest.mark.contract("X3")
@pytest.mark.parametrize(
    ("errors", "result", "exit_code"),
    [([NotFollowed("once")] * 2, INCONCLUSIVE, 7), ([NotFollowed("once"), FAILS], FAILED, 1)],
)
async def test_a_real_model_that_does_not_follow_is_asked_once_more(
    options: ChatOptions,
    listener: Listener,
    short_tmp: Path,
    monkeypatch: pytest.MonkeyPatch,
    errors: list[Exception],
    result: Result,
    exit_code: int,
) -> None:
    (short_tmp / "claude").write_text("#!/bin/sh\n")
    (short_tmp / "claude").chmod(0o755)
    environment = {**options.environment, "ANTHROPIC_API_KEY": "sk-test-nothing"}
    environment["PATH"] = f"{short_tmp}:{environment['PATH']}"
    monkeypatch.setattr(coding_agent_chat, "PROBES", {"first": asked(begins), "second": raises(*errors)})
    real = replace(options, provider="claude-code", model_server="real", environment=environment)
    report = await run_chat(real, listener)
    assert (report.probes[1].result, report.exit_code) == (result, exit_code)


@pytest.mark.anyio
@pytest.mark.contract("X3")
async def test_a_cli_that_did_not_come_up_is_reported_with_its_last_screen_and_a_log_that_is_kept_when_asked(
    options: ChatOptions,
    listener: Listener,
    short_tmp: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began: list[str] = []
    screen = "\n".join(["left out", *(f"line {n}" for n in range(12)), "", ""])
    error = RemoteError("PromptReadyTimedOut", "TIMEOUT: layer=prompt_ready", fields={"screen": screen})
    monkeypatch.setattr(coding_agent_chat, "PROBES", {"launch": raises(error), "later": asked(begins)})
    report = await run_chat(replace(options, keep=True), replace(listener, begins=began.append))
    failed, later = report.probes
    assert failed.evidence["screen"] == [f"line {n}" for n in range(12)]
    log = Path(str(failed.evidence["server_log"]))
    assert [log] == list(short_tmp.glob("mcp-agent-server-*.log"))
    assert log.stat().st_mode & 0o077 == 0
    assert (later.result, later.evidence, began) == (NOT_RUN, {}, ["launch"])


@pytest.mark.anyio
@pytest.mark.contract("X3")
async def test_real_without_credentials_is_not_run_with_the_reason(options: ChatOptions, listener: Listener) -> None:
    report = await run_chat(replace(options, model_server="real"), listener)
    assert (report.result, report.exit_code, report.probes) == (Result.NOT_RUN, 3, ())
    assert report.reason is not None
    assert "no credentials" in report.reason


@pytest.mark.anyio
@pytest.mark.contract("X3")
@pytest.mark.parametrize("model_server", ["scripted", "real"])
async def test_a_missing_cli_is_not_run_with_what_to_install(
    options: ChatOptions, listener: Listener, model_server: Any
) -> None:
    report = await run_chat(replace(options, provider="claude-code", model_server=model_server), listener)
    assert (report.result, report.exit_code, report.probes) == (Result.NOT_RUN, 4, ())
    assert "install it with: " in str(report.reason)


@pytest.mark.anyio
async def test_an_unknown_provider_is_refused_before_anything_is_made(options: ChatOptions, listener: Listener) -> None:
    with pytest.raises(UnknownAdapter):
        await run_chat(replace(options, provider="nobody"), listener)
    assert list(options.parent.glob(f"{PREFIX}*")) == []


@pytest.mark.anyio
@pytest.mark.contract("T2")
async def test_a_limit_that_cannot_be_used_is_told(
    options: ChatOptions, listener: Listener, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coding_agent_chat, "PROBES", {})
    environment = {**options.environment, "CODING_AGENT_MCP_TOOL_TIMEOUT": "90"}
    report = await run_chat(replace(options, environment=environment), listener)
    assert (report.result, report.exit_code) == (Result.NOT_RUN, 1)
    assert [line for line in said if line.startswith("warning: CODING_AGENT_MCP_TOOL_TIMEOUT")] == said
