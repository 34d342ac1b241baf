"""Who may ask for what: the owner's token for the owner's routes, a session's token for that session's."""

import hmac
from typing import Annotated

from fastapi import Depends, Header, Request

from mcp_agent.errors import AccessDenied
from mcp_agent.server.runtime import Runtime
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import SessionState


async def runtime_of(request: Request) -> Runtime:
    runtime = request.app.state.runtime
    assert isinstance(runtime, Runtime)
    return runtime


RuntimeOf = Annotated[Runtime, Depends(runtime_of)]
Authorization = Annotated[str, Header()]


async def owner(runtime: RuntimeOf, authorization: Authorization = "") -> None:
    if not _matches(authorization, runtime.owner_token):
        raise AccessDenied


async def session_of_token(session: str, runtime: RuntimeOf, authorization: Authorization = "") -> LiveSession:
    return session_of(session, runtime, authorization)


SessionOfToken = Annotated[LiveSession, Depends(session_of_token)]


def session_of(session: str, runtime: Runtime, authorization: str) -> LiveSession:
    """The session of this id, if the token is its own and it was not stopped."""
    known = next((live for live in runtime.sessions.all() if live.id == session), None)
    token = known.token if known is not None and known.state is not SessionState.STOPPED else ""
    if not _matches(authorization, token) or known is None:
        raise AccessDenied
    return known


def _matches(authorization: str, token: str) -> bool:
    scheme, _, shown = authorization.partition(" ")
    same = hmac.compare_digest(shown.encode(), token.encode())
    return same and bool(token) and scheme.lower() == "bearer"
