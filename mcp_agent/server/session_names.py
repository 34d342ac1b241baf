"""Names in the place of ids: `/sessions/<name>/…` is answered as `/sessions/<id>/…`, on every route below it."""

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_agent.server.runtime import Runtime
from mcp_agent.sessions.names import is_name, session_named
from mcp_agent.sessions.record import load_records


async def session_id_of(runtime: Runtime, text: str) -> str:
    """The id of the session that this name means. Anything else stays as it is, for the route to judge."""
    if not is_name(text):
        return text
    found = session_named(text, runtime.sessions.records)
    if found is None:
        found = session_named(text, await anyio.to_thread.run_sync(load_records, runtime.state))
    return found or text


class SessionNames:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, runtime: Runtime) -> None:
        self._app, self._runtime = app, runtime

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/sessions/"):
            root, noun, session, *rest = scope["path"].split("/", 3)
            session_id = await session_id_of(self._runtime, session)
            scope = {**scope, "path": "/".join([root, noun, session_id, *rest])}
        await self._app(scope, receive, send)
