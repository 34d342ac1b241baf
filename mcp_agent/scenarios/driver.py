"""The public API as the probes use it: every step of a scenario goes through here, and nothing else does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar, cast

import anyio

from mcp_agent.server.client import Client, Json

ResultT = TypeVar("ResultT")

MOST_EVENTS = 1000
LOOK_AGAIN_AFTER = timedelta(milliseconds=100)


@dataclass(slots=True)
class Driver:
    """An asynchronous owner's view of one server."""

    client: Client
    waits: Callable[[str, timedelta | None], None] = lambda _what, _limit: None
    """Told what is waited for, and how long at most."""

    async def start_session(self, body: Mapping[str, object]) -> Json:
        self.waits("the CLI to show its prompt", None)
        return await _in_thread(lambda: self.client.post("/sessions", body, waits=True))

    async def show(self, session_id: str) -> Json:
        return await _in_thread(lambda: self.client.get(f"/sessions/{session_id}"))

    async def look(self, session_id: str) -> Json:
        """The screen as it is now: its lines and its title."""
        return await _in_thread(lambda: self.client.get(f"/sessions/{session_id}/screen"))

    async def screen(self, session_id: str) -> list[str]:
        return cast("list[str]", (await self.look(session_id))["lines"])

    async def picture(self, session_id: str) -> Json:
        """The pane with its colours; taking it changes nothing."""
        return await _in_thread(lambda: self.client.get(f"/sessions/{session_id}/picture"))

    async def events(self, session_id: str, *, after: int = 0) -> list[Json]:
        """What happened to the session so far, or after a cursor, oldest first."""
        path, asked = f"/sessions/{session_id}/events", {"limit": str(MOST_EVENTS), "after": str(after)}
        found = await _in_thread(lambda: self.client.get(path, **asked))
        return cast("list[Json]", found["events"])

    async def send(self, session_id: str, text: str, *, clear_draft: bool = False) -> Json:
        body = {"text": text, "clear_draft": clear_draft}
        return await _in_thread(lambda: self.client.post(f"/sessions/{session_id}/send", body, waits=True))

    async def turn(self, session_id: str, turn_id: str, *, limit: timedelta) -> Json:
        """The turn once it is over, or as it is when the limit passes."""
        if limit > LOOK_AGAIN_AFTER:
            self.waits("the turn to end", limit)
        path = f"/sessions/{session_id}/turns/{turn_id}?wait_seconds={limit.total_seconds()}"
        return await _in_thread(lambda: self.client.wait(path))

    async def turns(self, session_id: str) -> list[Json]:
        return cast("list[Json]", (await self.show(session_id))["turns"])

    async def calls(self, session_id: str) -> list[Json]:
        return cast("list[Json]", (await _in_thread(lambda: self.client.get("/calls", session=session_id)))["calls"])

    async def running_call(self, session_id: str, turn_id: str, *, limit: timedelta) -> Json | None:
        """The running tool call of a turn; None when the turn ended without one, or the limit passed."""
        self.waits("a tool call to begin", limit)
        with anyio.move_on_after(limit.total_seconds()):
            while not (await self.turn(session_id, turn_id, limit=LOOK_AGAIN_AFTER))["outcome"]:
                for call in await self.calls(session_id):
                    if call["ended_at"] is None and call["turn_id"] == turn_id:
                        return call
        return None

    async def version(self, session_id: str, *, limit: timedelta) -> object:
        """The CLI's version, which is asked for beside the launch; None when it does not come within the limit."""
        with anyio.move_on_after(limit.total_seconds()):
            while True:
                version = (await self.show(session_id))["provider_version"]
                if version is not None:
                    return version
                await anyio.sleep(LOOK_AGAIN_AFTER.total_seconds())
        return None

    async def interrupt(self, session_id: str) -> bool:
        """Whether a turn was interrupted; answers when it is over."""
        self.waits("the interrupted turn to end", None)
        done = await _in_thread(lambda: self.client.post(f"/sessions/{session_id}/interrupt", waits=True))
        return done["interrupted"] is True

    async def settled_call(self, call_id: str, *, limit: timedelta) -> Json:
        """The call once nothing more is to be waited for, or as it is when the limit passes."""
        return await _in_thread(lambda: self.client.wait(f"/calls/{call_id}?wait_seconds={limit.total_seconds()}"))

    async def cancel_call(self, call_id: str) -> Json:
        return await _in_thread(lambda: self.client.delete(f"/calls/{call_id}"))

    async def until(self, session_id: str, holds: Callable[[Json], bool], *, limit: timedelta) -> Json:
        """The session once this holds of it, or as it is when the limit passes."""
        now = await self.show(session_id)
        with anyio.move_on_after(limit.total_seconds()):
            while not holds(now):
                await anyio.sleep(LOOK_AGAIN_AFTER.total_seconds())
                now = await self.show(session_id)
        return now

    async def tools_of(self, session_id: str, token: str) -> Json:
        """The session's tools, as whoever holds this token of it is told them."""
        client = Client(self.client.state, token)
        return await _in_thread(lambda: client.get(f"/s/{session_id}/tools"))

    async def stop_session(self, session_id: str) -> Json:
        self.waits("all processes of the session to end", None)
        return await _in_thread(lambda: self.client.post(f"/sessions/{session_id}/stop", waits=True))

    async def server(self) -> Json:
        return await _in_thread(lambda: self.client.get("/server"))

    async def stop_server(self) -> None:
        self.waits("the server to end", None)

        def stop() -> None:
            self.client.post("/server/stop?now=true", waits=True)
            self.client.wait_until_gone()

        await _in_thread(stop)


async def _in_thread(request: Callable[[], ResultT]) -> ResultT:
    """An abandoned request ends with the session it waits for."""
    return await anyio.to_thread.run_sync(request, abandon_on_cancel=True)
