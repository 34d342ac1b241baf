"""A chat scenario that is broken on purpose: each time the probe that is there for it fails, and says what it saw."""

from __future__ import annotations

import re
import subprocess
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import SecretInReport
from mcp_agent.processes import SESSION_MARK
from mcp_agent.scenarios import coding_agent_chat
from mcp_agent.scenarios.chat import ending, transcripts
from mcp_agent.scenarios.chat.probe import Probe
from mcp_agent.scenarios.chat.program import Program
from mcp_agent.scenarios.coding_agent_chat import run_chat
from mcp_agent.scenarios.driver import Driver
from mcp_agent.scenarios.model.brain import answer
from mcp_agent.scenarios.model.conversation import CallTool, Conversation, Reply, Text, ToolCall
from mcp_agent.scenarios.model.server import ScriptedModel
from mcp_agent.scenarios.probes import PROBES, note_canary
from mcp_agent.scenarios.report import writing
from mcp_agent.scenarios.reported import run_all
from mcp_agent.scenarios.results import Result
from mcp_agent.server.client import Client
from mcp_agent.sessions.starting.launching import BRIDGE_FILE, read_token

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from pathlib import Path

    from mcp_agent.scenarios.options import ChatOptions, Listener
    from mcp_agent.scenarios.probes import Chat, Evidence
    from mcp_agent.server.client import Json

pytestmark = [pytest.mark.anyio, pytest.mark.contract("X2", "X3")]

LAUNCH, NOTE, SLEEP, LEAK, _, LONG, _, _, CANCEL, _, _, STOP = PROBES
SOON = timedelta(milliseconds=300)


@pytest.fixture
def left_behind() -> Iterator[Callable[..., int]]:
    """Starts a process that nobody ends, with this environment and directory, and answers with its pid."""
    left: list[subprocess.Popen[bytes]] = []

    def start(environment: Mapping[str, str], directory: Path | str = "/") -> int:
        left.append(subprocess.Popen(["/bin/sleep", "60"], env=environment, cwd=directory))
        return left[-1].pid

    yield start
    for process in left:
        process.kill()
        process.wait()


async def fails(options: ChatOptions, listener: Listener, probe: str) -> str:
    """The reason for which this probe failed, and it alone."""
    report = await run_chat(replace(options, probes=(probe,)), listener)
    failed = {each.name: each.reason for each in report.probes if each.result is not Result.PASSED}
    assert list(failed) == [probe]
    assert (report.result, report.exit_code) == (Result.FAILED, 1)
    return str(failed[probe])


def think(monkeypatch: pytest.MonkeyPatch, mind: Callable[[Conversation], Reply]) -> None:
    """The scripted model has this mind."""

    class Model:
        @staticmethod
        @asynccontextmanager
        async def serve() -> AsyncIterator[ScriptedModel]:
            async with ScriptedModel.serve() as model:
                model.journal.mind = mind
                yield model

    monkeypatch.setattr(coding_agent_chat, "ScriptedModel", Model)


async def test_a_doubled_answer(options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    def doubles(conversation: Conversation) -> Reply:
        reply = answer(conversation)
        return Text(f"{reply.text}\n{reply.text}") if isinstance(reply, Text) and "LINE-" in reply.text else reply

    think(monkeypatch, doubles)
    assert "the answer is 'LINE-" in await fails(options, listener, LONG)


@pytest.mark.parametrize(
    ("kind", "probe", "words"),
    [("turn.ended", NOTE, "was completed 2 times"), ("call.started", SLEEP, "was begun 2 times")],
)
async def test_a_turn_or_a_call_that_is_told_twice(
    options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch, kind: str, probe: str, words: str
) -> None:
    honest = Driver.events
    asked: list[int] = []

    async def events(self: Driver, session_id: str, *, after: int = 0) -> list[Json]:
        found = await honest(self, session_id, after=after)
        asked.append(after)
        doubled = [event for event in found if event["kind"] == kind and after]
        return [*found, *doubled]

    monkeypatch.setattr(Driver, "events", events)
    assert words in await fails(options, listener, probe)
    assert len(asked) > 1


async def test_a_completion_that_is_never_told(
    options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Driver.events

    async def events(self: Driver, session_id: str, *, after: int = 0) -> list[Json]:
        return [event for event in await honest(self, session_id, after=after) if event["kind"] != "turn.ended"]

    monkeypatch.setattr(Driver, "events", events)
    assert "nothing tells that it was completed" in await fails(options, listener, LAUNCH)


async def test_an_answer_leaked_from_an_earlier_turn(
    options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs: list[str] = []

    def leaks(conversation: Conversation) -> Reply:
        reply = answer(conversation)
        if isinstance(reply, Text) and "OUTPUT " in reply.text:
            outputs.append(reply.text)
            return Text(outputs[0])
        return reply

    think(monkeypatch, leaks)
    assert "the answer is 'OUTPUT OWN-" in await fails(options, listener, LEAK)


async def test_a_tool_call_run_twice(options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    def repeats(conversation: Conversation) -> Reply:
        calls = [item for item in conversation.items if isinstance(item, ToolCall)]
        if len(calls) == 1:
            tool = next(tool for tool in conversation.tools if calls[0].name == tool.name)
            return CallTool(tool, calls[0].arguments)
        return answer(conversation)

    think(monkeypatch, repeats)
    assert "one tool call was expected in the turn, 2 were recorded" in await fails(options, listener, SLEEP)


async def test_a_cancelled_command_that_is_started_again(
    options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Driver.cancel_call

    async def cancel_call(self: Driver, call_id: str) -> Json:
        for starts in options.parent.glob("*/work/starts-*"):
            starts.write_text(starts.read_text() * 2)
        return await honest(self, call_id)

    monkeypatch.setattr(Driver, "cancel_call", cancel_call)
    assert "the stopped command was started 2 times" in await fails(options, listener, CANCEL)


async def test_a_completion_before_the_tool_ended(
    options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Driver.send

    async def send(self: Driver, session_id: str, text: str, *, clear_draft: bool = False) -> Json:
        sent = await honest(self, session_id, text, clear_draft=clear_draft)
        if token := re.search(r"SLEEP-\w+", text):
            assert await self.running_call(session_id, str(sent["turn_id"]), limit=timedelta(seconds=20))
            await tell_of_the_end(self, session_id, final_text=f"DONE_SLEPT_{token[0]}")
        return sent

    monkeypatch.setattr(Driver, "send", send)
    assert "completed before its tool call" in await fails(options, listener, SLEEP)


async def tell_of_the_end(driver: Driver, session_id: str, *, final_text: str) -> None:
    """What the agent's own event program does, at the wrong moment."""
    event = {"event": "turn_end", "outcome": "completed", "final_text": final_text}
    client = Client(driver.client.state, read_token(driver.client.state, session_id))
    headers = {"X-Event-Name": "0-0-0.json"}
    await anyio.to_thread.run_sync(
        lambda: client._request("POST", f"/s/{session_id}/events", body=event, headers=headers)
    )


@pytest.fixture
def impostor(options: ChatOptions, short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> ChatOptions:
    """Claude Code is asked for, and the scripted agent is started."""
    (short_tmp / "claude").write_text("#!/bin/sh\n")
    (short_tmp / "claude").chmod(0o755)
    honest = Driver.start_session

    async def start_session(self: Driver, body: Mapping[str, object]) -> Json:
        return await honest(self, {**body, "provider": "scripted"})

    monkeypatch.setattr(Driver, "start_session", start_session)
    path = f"{short_tmp}:{options.environment['PATH']}"
    return replace(options, provider="claude-code", environment={**options.environment, "PATH": path})


def lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server says that it started what was asked for."""
    honest = Driver.start_session

    async def start_session(self: Driver, body: Mapping[str, object]) -> Json:
        return {**await honest(self, body), "provider": body["provider"]}

    monkeypatch.setattr(Driver, "start_session", start_session)


async def test_a_wrong_provider_behind_the_name(impostor: ChatOptions, listener: Listener) -> None:
    assert await fails(impostor, listener, LAUNCH) == "another provider was started: scripted"


async def test_a_wrong_program_behind_the_name(
    impostor: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(monkeypatch)
    assert "another program runs in the pane: " in await fails(impostor, listener, LAUNCH)


async def test_an_answer_that_is_not_in_the_providers_own_transcript(
    impostor: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(monkeypatch)
    monkeypatch.setattr(Program, "is_called", lambda *_: True)
    monkeypatch.setattr(transcripts, "WRITTEN_WITHIN", SOON)
    assert "Claude Code keeps no transcript of this conversation" in await fails(impostor, listener, LAUNCH)


async def test_a_process_left_behind(
    options: ChatOptions,
    listener: Listener,
    monkeypatch: pytest.MonkeyPatch,
    left_behind: Callable[..., int],
) -> None:
    honest = Driver.stop_session
    pids: list[int] = []

    async def stop_session(self: Driver, session_id: str) -> Json:
        stopped = await honest(self, session_id)
        pids.append(left_behind({SESSION_MARK: session_id}))
        return stopped

    monkeypatch.setattr(Driver, "stop_session", stop_session)
    assert await fails(options, listener, STOP) == f"processes are left: [{pids[0]}]"


async def test_a_process_left_behind_that_took_the_sessions_mark_off(
    options: ChatOptions,
    listener: Listener,
    monkeypatch: pytest.MonkeyPatch,
    left_behind: Callable[..., int],
) -> None:
    honest = Driver.stop_server
    monkeypatch.setattr(ending, "REST_ENDS_WITHIN", SOON)
    pids: list[int] = []

    async def stop_server(self: Driver) -> None:
        await honest(self)
        (work,) = options.parent.glob("*/work")
        pids.append(left_behind({}, work))

    monkeypatch.setattr(Driver, "stop_server", stop_server)
    reason = await fails(options, listener, STOP)
    assert reason == f"processes are left that know of this run: ['{pids[0]} sleep']"


async def test_a_file_left_behind(options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Driver.stop_session

    async def stop_session(self: Driver, session_id: str) -> Json:
        stopped = await honest(self, session_id)
        (self.client.state.session(session_id) / BRIDGE_FILE).write_text("{}")
        return stopped

    monkeypatch.setattr(Driver, "stop_session", stop_session)
    assert f"['{BRIDGE_FILE}']" in await fails(options, listener, STOP)


async def test_a_token_that_outlives_its_session(
    options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tools_of(self: Driver, session_id: str, token: str) -> Json:
        return {"tools": []}

    monkeypatch.setattr(Driver, "tools_of", tools_of)
    assert await fails(options, listener, STOP) == "the session's token still opens the server"


@pytest.mark.contract("X4", "A2")
async def test_a_token_in_the_report(
    options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def tells(chat: Chat) -> Evidence:
        found = await note_canary(chat)
        return {**found, "token": read_token(chat.space.state, chat.id)}

    monkeypatch.setattr(coding_agent_chat, "PROBES", {LAUNCH: PROBES[LAUNCH], NOTE: Probe(tells, timedelta(minutes=1))})
    monkeypatch.setattr(coding_agent_chat, "masked", lambda value, _: value)
    monkeypatch.setattr(writing, "masked", lambda value, _: value)
    with pytest.raises(SecretInReport, match=r"report\.json"):
        await run_all(options, listener, tmp_path)
    assert "token" not in (tmp_path / "report.json").read_text()


async def test_a_probe_that_asserts_nothing(
    options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nods(chat: Chat) -> Evidence:
        return {"session": chat.id}

    monkeypatch.setattr(coding_agent_chat, "PROBES", {LAUNCH: PROBES[LAUNCH], NOTE: Probe(nods, timedelta(minutes=1))})
    assert await fails(options, listener, NOTE) == "the probe asserted nothing: it proves nothing"
