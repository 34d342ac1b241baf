"""Sessions that are over go on with their conversation, in a new pane, under the same id."""

from __future__ import annotations

import stat
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest

from mcp_agent.adapter import ModelEndpoint
from mcp_agent.errors import (
    BadRequest,
    ConversationInUse,
    McpAgentError,
    NotResumable,
    ResumeFailed,
    SessionEnded,
    TmuxUnavailable,
    UnknownSession,
)
from mcp_agent.processes import CALL_MARK, SESSION_MARK, marked
from mcp_agent.sessions.record import load_record, load_records, save_record
from mcp_agent.sessions.retention.closing import Closing
from mcp_agent.sessions.starting.kept_secrets import SECRETS_FILE, Secrets
from mcp_agent.timeouts import Policy
from tests.sessions.conftest import Cli, Plain
from tests.sessions.managed.test_stops import start_marked

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mcp_agent.adapter import Launch, LaunchRequest
    from mcp_agent.sessions.live import LiveSession
    from mcp_agent.sessions.manager import SessionManager
    from mcp_agent.tmux.memory import MemoryPane
    from tests.sessions.managed.conftest import House

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S7")]

SOON = timedelta(seconds=10)


class Recording(Plain):
    """The plain adapter, which remembers what it was asked to launch."""

    def __init__(self) -> None:
        self.requests: list[LaunchRequest] = []

    def launch(self, request: LaunchRequest) -> Launch:
        self.requests.append(request)
        return super().launch(request)

    def transcript_glob(self, native_session_id: str) -> str:  # type: ignore[override]
        return f"talk/{native_session_id}.jsonl"


@dataclass
class Place:
    """A server whose sessions run programs that take prompts."""

    house: House
    adapter: Recording = field(default_factory=Recording)
    clis: list[Cli] = field(default_factory=list)

    @asynccontextmanager
    async def server(self) -> AsyncGenerator[SessionManager]:
        async with self.house.server() as manager:
            self.house.terminal.program = lambda pane: self._run(pane, manager)
            yield manager

    async def left(self, manager: SessionManager, how: str, *, prompt: str | None = "one") -> LiveSession:
        """A session that took a prompt and is over."""
        session = await manager.start(self.house.options())
        if prompt is not None:
            await manager.send(session.id, prompt)
            self.clis[-1].tell(ended="completed", text="1")
        await self.end(manager, session, how)
        return session

    async def end(self, manager: SessionManager, session: LiveSession, how: str) -> None:
        if how == "stopped":
            await manager.stop(session.id)
        elif how == "lost":
            self.house.terminal.lose()
        else:
            self.house.terminal.pane(session.pane).exit(7)
        assert await session.wait_until(lambda: session.state == how, limit=SOON)

    def _run(self, pane: MemoryPane, manager: SessionManager) -> None:
        cli = Cli(pane, self.house.state.session(pane.name) / "events")
        cli.told = lambda: manager.get(pane.name).take_events()
        self.clis.append(cli)


@pytest.fixture
def place(house: House) -> Place:
    place = Place(house)
    house.bench.adapter = place.adapter
    return place


@pytest.mark.parametrize("how", ["lost", "exited", "stopped"])
async def test_a_session_that_is_over_goes_on_in_a_new_pane_with_a_new_token(place: Place, how: str) -> None:
    async with place.server() as manager:
        session = await place.left(manager, how)
        before, native, token = (
            session.pane if how != "stopped" else None,
            session.record.native_session_id,
            session.token,
        )

        assert await manager.resume(session.id) is session

        assert (session.state, session.record.native_session_id) == ("ready", native)
        assert session.pane != before
        assert session.token not in {token, ""}
        assert await place.house.panes() == [session.id]
        assert [(request.resume, request.native_session_id) for request in place.adapter.requests] == [
            (False, native),
            (True, native),
        ]
        assert [turn.prompt for turn in session.turns.all] == ["one"]
        assert load_record(place.house.state, session.id) == session.record


async def test_a_prompt_for_a_lost_session_resumes_it_first(place: Place) -> None:
    async with place.server() as manager:
        session = await place.left(manager, "lost")

        assert (await manager.send(session.id, "two")).outcome == "delivered"

        assert [turn.prompt for turn in session.turns.all] == ["one", "two"]
        assert place.clis[-1].submitted == ["two"]


async def test_a_turn_that_ran_when_its_pane_was_lost_has_failed_once(place: Place) -> None:
    async with place.server() as manager:
        session = await manager.start(place.house.options())
        await manager.send(session.id, "one")
        await place.end(manager, session, "lost")
        await manager.send(session.id, "two")
        place.clis[-1].tell(ended="completed")

        ended = [
            (turn.prompt, turn.ended and turn.ended.outcome, turn.ended and turn.ended.error)
            for turn in session.turns.all
        ]
        assert ended == [("one", "failed", "the CLI's pane is gone"), ("two", "completed", None)]


async def close_idle(manager: SessionManager, session: LiveSession) -> None:
    closing = Closing(timedelta(hours=3), "default", at=0.0, by="server", elapsed_seconds=10_800.0)
    await manager._close_idle(session, closing)
    assert session.over == "stopped (idle for 3h)"


@pytest.mark.contract("S6")
async def test_a_prompt_resumes_a_session_that_was_closed_since_it_was_idle(place: Place) -> None:
    async with place.server() as manager:
        session = await manager.start(place.house.options())
        await close_idle(manager, session)

        assert (await manager.send(session.id, "two")).outcome == "delivered"
        assert session.record.closed is None


@pytest.mark.contract("S6", "A2")
async def test_an_idle_session_whose_credentials_are_not_kept_asks_for_them(place: Place) -> None:
    async with place.server() as manager:
        session = await manager.start(place.house.options(environment={"PLAIN_TOKEN": "t"}))
        await close_idle(manager, session)
        with pytest.raises(SessionEnded, match="session resume"):
            await manager.send(session.id, "two")


async def test_the_version_of_a_resumed_cli_is_told_anew(place: Place) -> None:
    async with place.server() as manager:
        session = await place.left(manager, "lost")
        session.record = replace(session.record, provider_version="old")
        await manager.resume(session.id)
        assert await session.wait_until(lambda: session.record.provider_version != "old", limit=SOON)


@pytest.mark.parametrize("how", ["exited", "stopped"])
async def test_a_prompt_resumes_no_session_that_somebody_ended(place: Place, how: str) -> None:
    async with place.server() as manager:
        session = await place.left(manager, how)
        with pytest.raises(SessionEnded, match=f"{how}.*mcp-agent session resume {session.id}"):
            await manager.send(session.id, "two")

        assert len(place.clis) == 1


async def test_a_session_that_lives_is_left_alone(place: Place) -> None:
    async with place.server() as manager:
        session = await manager.start(place.house.options())
        pane, token = session.pane, session.token
        await manager.resume(session.id)
        assert (session.pane, session.token) == (pane, token)


async def test_everyone_who_asks_at_once_gets_one_relaunch(place: Place) -> None:
    async with place.server() as manager:
        session = await place.left(manager, "lost")
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(manager.resume, session.id)
            group.start_soon(manager.send, session.id, "two")

        assert len(place.clis) == 2
        assert place.clis[-1].submitted == ["two"]


async def test_a_resume_goes_on_when_the_one_who_asked_leaves(place: Place) -> None:
    async with place.server() as manager:
        session = await place.left(manager, "lost")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await manager.resume(session.id)
        assert await session.wait_until(lambda: session.state == "ready", limit=SOON)


@pytest.mark.contract("C5")
@pytest.mark.parametrize("at", ["spawning", "spawned", "waiting"])
@pytest.mark.parametrize("how", ["lost", "stopped"])
async def test_a_stop_wins_over_a_resume_and_leaves_nothing(place: Place, at: str, how: str) -> None:
    reached, refused = anyio.Event(), list[McpAgentError]()

    async def hang() -> None:
        reached.set()
        await anyio.sleep_forever()

    async with place.server() as manager:
        session = await place.left(manager, how)

        async def resume() -> None:
            with pytest.raises(SessionEnded) as caught:
                await manager.resume(session.id)
            refused.append(caught.value)

        house = place.house
        house.bridges_come_up = False
        house.terminal.before_spawn = hang if at == "spawning" else house.terminal.before_spawn
        house.terminal.after_spawn = hang if at == "spawned" else house.terminal.after_spawn
        if at == "waiting":
            house.terminal.on_watch = lambda _: reached.set()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(resume)
                await reached.wait()
                await manager.stop(session.id)

        assert (session.state, len(refused)) == ("stopped", 1)
        assert await house.panes() == []
        assert house.files() == [session.id, f"{session.id}/session.json"]
        assert load_records(house.state)[0].stopped
        assert house.terminal.opened == house.terminal.shut_down


@pytest.mark.contract("C5")
async def test_a_session_that_is_just_being_stopped_is_not_resumed(place: Place) -> None:
    stopping, go_on = anyio.Event(), anyio.Event()

    async def cancel_calls(_: str) -> int:
        stopping.set()
        await go_on.wait()
        return 0

    async with place.server() as manager:
        session = await place.left(manager, "lost")
        manager.cancel_calls = cancel_calls
        async with anyio.create_task_group() as group:
            group.start_soon(manager.stop, session.id)
            await stopping.wait()
            with pytest.raises(SessionEnded, match="just being stopped"):
                await manager.resume(session.id)
            go_on.set()
        assert session.state == "stopped"


async def test_a_session_that_was_resumed_can_be_stopped_and_resumed_again(place: Place) -> None:
    async with place.server() as manager:
        session = await place.left(manager, "stopped")
        for _ in range(2):
            await manager.resume(session.id)
            assert (await manager.send(session.id, "hi")).outcome == "delivered"
            await manager.stop(session.id)
            assert place.house.files() == [session.id, f"{session.id}/session.json"]
        assert place.house.terminal.opened == place.house.terminal.shut_down


@pytest.mark.parametrize("how", ["lost", "exited", "stopped"])
async def test_a_resume_that_fails_says_why_and_leaves_the_session_as_it_was(place: Place, how: str) -> None:
    async with place.server() as manager:
        session = await place.left(manager, how)
        status, record, files = session.status, session.record, place.house.files()
        panes, runs = await place.house.panes(), place.house.terminal.program

        def refuse(pane: MemoryPane) -> None:
            pane.show("No conversation found")
            pane.exit(1)

        place.house.terminal.program = refuse
        with pytest.raises(ResumeFailed, match=r"left as it was: .*status 1.*No conversation found") as caught:
            await manager.resume(session.id)

        assert caught.value.screen == "No conversation found"
        assert (session.status, session.record) == (status, record)
        assert load_record(place.house.state, session.id) == record
        assert await place.house.panes() == panes
        if how == "stopped":
            assert place.house.files() == files
        place.house.terminal.program = runs
        await manager.resume(session.id)
        assert session.state == "ready"


@pytest.mark.parametrize("how", ["lost", "stopped"])
async def test_what_goes_wrong_with_tmux_or_with_an_adapter_ends_no_server(place: Place, how: str) -> None:
    async with place.server() as manager:
        session = await place.left(manager, how)
        place.adapter.fault = LookupError("no such model")
        with pytest.raises(ResumeFailed, match="no such model"):
            await manager.resume(session.id)
        place.adapter.fault = None
        place.house.terminal.available = False
        with pytest.raises(ResumeFailed, match="does not answer"):
            await manager.resume(session.id)
        place.house.terminal.available = True
        await manager.resume(session.id)
        assert session.state == "ready"


async def test_a_cli_that_never_shows_its_prompt_is_no_resume(place: Place) -> None:
    place.house.policy = Policy.resolve({"MCP_AGENT_PROMPT_READY": "1s"})
    async with place.server() as manager:
        session = await place.left(manager, "lost")
        place.house.terminal.program = lambda pane: pane.show("warming up")
        with pytest.raises(ResumeFailed, match="layer=prompt_ready") as caught:
            await manager.resume(session.id)
        assert (caught.value.screen, session.state) == ("warming up", "lost")
        assert await place.house.panes() == []


async def test_a_resumed_cli_that_a_dialog_blocks_is_kept_for_a_person(place: Place) -> None:
    async with place.server() as manager:
        session = await place.left(manager, "lost")
        place.house.terminal.program = lambda pane: pane.show("[dialog login]", "* Log in")
        assert (await manager.resume(session.id)).state == "blocked"
        assert await place.house.panes() == [session.id]


async def test_a_conversation_in_which_nothing_was_said_is_begun_again(place: Place) -> None:
    async with place.server() as manager:
        session = await place.left(manager, "lost", prompt=None)
        await manager.resume(session.id)
        assert [request.resume for request in place.adapter.requests] == [False, False]


async def test_a_cli_that_told_no_conversation_cannot_be_resumed(place: Place) -> None:
    async with place.server() as manager:
        session = await place.left(manager, "lost")
        session.record = replace(session.record, native_session_id=None)
        with pytest.raises(NotResumable, match="never told the id"):
            await manager.resume(session.id)


async def test_a_record_of_nobody_cannot_be_resumed(place: Place) -> None:
    async with place.server() as manager:
        with pytest.raises(UnknownSession):
            await manager.resume("s-none")


@pytest.mark.contract("A2")
async def test_credentials_are_kept_in_a_private_file_until_the_session_is_stopped(place: Place) -> None:
    secret = {"PLAIN_API_KEY": "first-key", "PLAIN_REGION": "here"}
    async with place.server() as manager:
        session = await manager.start(place.house.options(environment=secret))
        directory = place.house.state.session(session.id)
        assert stat.S_IMODE((directory / SECRETS_FILE).stat().st_mode) == 0o600
        assert "first-key" not in (directory / "session.json").read_text()
        await place.end(manager, session, "lost")
        await manager.resume(session.id, given=Secrets({"PLAIN_API_KEY": "second-key"}))
        assert place.house.terminal.pane(session.pane).environment["PLAIN_API_KEY"] == "first-key"
        await manager.stop(session.id)
        assert not (directory / SECRETS_FILE).exists()

        await manager.resume(session.id, given=Secrets({"PLAIN_API_KEY": "second-key", "OTHER": "x"}))

        environment = place.house.terminal.pane(session.pane).environment
        assert (environment["PLAIN_API_KEY"], environment.keys() & {"OTHER", "PLAIN_REGION"}) == ("second-key", set())


@pytest.mark.contract("A2")
async def test_the_key_of_a_stopped_sessions_endpoint_must_be_given_again(place: Place) -> None:
    endpoint = ModelEndpoint("http://127.0.0.1:1", "endpoint-key")
    async with place.server() as manager:
        session = await manager.start(place.house.options(endpoint=endpoint))
        assert "endpoint-key" not in (place.house.state.session(session.id) / "session.json").read_text()
        await place.end(manager, session, "lost")
        await manager.resume(session.id)
        await manager.stop(session.id)
        with pytest.raises(NotResumable, match="--model-key-variable"):
            await manager.resume(session.id)

        await manager.resume(session.id, given=Secrets(api_key="another-endpoint-key"))

        keys = [request.endpoint and request.endpoint.api_key for request in place.adapter.requests]
        assert keys == ["endpoint-key", "endpoint-key", "another-endpoint-key"]


@pytest.mark.contract("A3")
async def test_variables_that_were_named_for_a_session_are_there_again(place: Place) -> None:
    async with place.server() as manager:
        options = place.house.options(environment={"TOKEN": "alpha"}, named_variables=frozenset({"TOKEN"}))
        session = await manager.start(options)
        await place.end(manager, session, "lost")
        await manager.resume(session.id)
        assert place.house.terminal.pane(session.pane).environment["TOKEN"] == "alpha"
        assert session.record.shell_environment["TOKEN"] == "alpha"


async def test_a_session_that_an_earlier_server_stopped_is_resumed_with_its_turns(place: Place) -> None:
    async with place.server() as manager:
        earlier = await place.left(manager, "stopped")
    async with place.server() as manager:
        assert manager.all() == []
        session = await manager.resume(earlier.id)
        assert session.state == "ready"
        assert [turn.prompt for turn in session.turns.all] == ["one"]


async def test_what_is_left_of_a_lost_cli_is_ended_and_its_running_commands_are_not(place: Place) -> None:
    async with place.server() as manager:
        session = await place.left(manager, "lost")
        left, command = start_marked(session.id), start_marked(session.id, **{CALL_MARK: "call_1"})
        await manager.resume(session.id)
        assert left.wait(10) != 0
        assert command.poll() is None
        await manager.stop(session.id)
        assert command.wait(10) != 0
        assert marked(SESSION_MARK, session.id) == []


async def test_a_session_whose_old_pane_may_still_be_there_is_not_resumed(place: Place) -> None:
    async with place.server() as manager:
        session = await manager.start(place.house.options())
        place.house.terminal.available = False
        await manager.stop(session.id)
        with pytest.raises(TmuxUnavailable, match="old pane"):
            await manager.resume(session.id)
        place.house.terminal.available = True


async def test_a_start_goes_on_with_a_conversation_of_the_provider(place: Place) -> None:
    talk = place.house.work / "talk/native-1.jsonl"
    talk.parent.mkdir()
    talk.write_text('{"accepted": "old"}\n')
    async with place.server() as manager:
        session = await manager.start(place.house.options(resume="native-1"))
        [request] = place.adapter.requests
        assert (request.resume, request.native_session_id) == (True, "native-1")
        place.clis[-1].tell(identified="native-1", transcript=str(talk))
        assert session.turns.all == []
        with pytest.raises(ConversationInUse, match=session.id):
            await manager.start(place.house.options(resume="native-1"))


@pytest.mark.parametrize("conversation", ["", "-x", "../up", "a b", "x" * 129, "ä"])
async def test_what_is_no_id_of_a_conversation_is_refused_before_anything_is_made(
    place: Place, conversation: str
) -> None:
    async with place.server() as manager:
        with pytest.raises(BadRequest, match="is no id of a conversation"):
            await manager.start(place.house.options(resume=conversation))
        assert not place.house.state.root.exists()


@pytest.mark.contract("S9")
@pytest.mark.parametrize("how", ["lost", "stopped"])
async def test_a_resume_that_the_end_of_a_server_cuts_off_is_finished_by_the_next(place: Place, how: str) -> None:
    async with place.server() as manager:
        session = await place.left(manager, how)
        place.house.bridges_come_up = False
        launched = anyio.Event()
        place.house.terminal.on_watch = lambda _: launched.set()
        async with anyio.create_task_group() as group:
            group.start_soon(manager.resume, session.id)
            with anyio.fail_after(20):
                await launched.wait()
            group.cancel_scope.cancel()
    place.house.bridges_come_up = True
    async with place.server() as manager:
        [adopted] = manager.all()
        assert adopted.id == session.id
        assert await adopted.wait_until(lambda: adopted.record.came_up, limit=SOON)
        assert adopted.state == "ready"
        assert await place.house.panes() == [session.id]


async def test_of_two_panes_of_a_session_the_living_one_is_adopted(place: Place) -> None:
    async with place.server() as manager:
        session = await manager.start(place.house.options())
        record = session.record
    twin = {
        "name": session.id,
        "argv": ["x"],
        "cwd": place.house.work,
        "environment": {},
        "tags": {"session": session.id},
    }
    place.house.terminal.program = lambda pane: pane.exit(1)
    await place.house.terminal.spawn(**twin)
    save_record(place.house.state, record)
    async with place.server() as manager:
        assert [adopted.pane for adopted in manager.all()] == [record.pane]
