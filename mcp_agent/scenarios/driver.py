"""The public API as the probes use it: every step of a scenario goes through here, and nothing else does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar, cast

import anyio

from mcp_agent.server.client import Client, Json

ResultT = TypeVar("ResultT")

LOOK_AGAIN_AFTER = timedelta(milliseconds=100)


@dataclass(slots=True)
class Driver:
    """An asynchronous owner's view of one server."""

    client: Client

    async def start_session(self, body: Mapping[str, object]) -> Json:
        return await _in_thread(lambda: self.client.post("/sessions", body, waits=True))

    async def show(self, session_id: str) -> Json:
        return await _in_thread(lambda: self.client.get(f"/sessions/{session_id}"))

    async def screen(self, session_id: str) -> list[str]:
        found = await _in_thread(lambda: self.client.get(f"/sessions/{session_id}/screen"))
        return cast("list[str]", found["lines"])

    async def send(self, session_id: str, text: str) -> Json:
        return await _in_thread(lambda: self.client.post(f"/sessions/{session_id}/send", {"text": text}, waits=True))

    async def turn(self, session_id: str, turn_id: str, *, limit: timedelta) -> Json:
        """The turn once it is over, or as it is when the limit passes."""
        path = f"/sessions/{session_id}/turns/{turn_id}?wait_seconds={limit.total_seconds()}"
        return await _in_thread(lambda: self.client.wait(path))

    async def turns(self, session_id: str) -> list[Json]:
        return cast("list[Json]", (await self.show(session_id))["turns"])

    async def calls(self, session_id: str) -> list[Json]:
        return cast("list[Json]", (await _in_thread(lambda: self.client.get("/calls", session=session_id)))["calls"])

    async def running_call(self, session_id: str, turn_id: str, *, limit: timedelta) -> Json | None:
        """The running tool call of a turn; None when the turn ended without one, or the limit passed."""
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

    async def stop_session(self, session_id: str) -> Json:
        return await _in_thread(lambda: self.client.post(f"/sessions/{session_id}/stop", waits=True))

    async def server(self) -> Json:
        return await _in_thread(lambda: self.client.get("/server"))

    async def stop_server(self) -> None:
        def stop() -> None:
            self.client.post("/server/stop?now=true", waits=True)
            self.client.wait_until_gone()

        await _in_thread(stop)


async def _in_thread(request: Callable[[], ResultT]) -> ResultT:
    """An abandoned request ends with the session it waits for."""
    return await anyio.to_thread.run_sync(request, abandon_on_cancel=True)
