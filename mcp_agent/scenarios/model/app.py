"""The scripted model's routes: three APIs, one brain."""

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from mcp_agent.scenarios.model.chat_completions import ChatCompletionsDialect
from mcp_agent.scenarios.model.conversation import BadRequest
from mcp_agent.scenarios.model.dialect import INPUT_TOKENS, Dialect
from mcp_agent.scenarios.model.failures import Refusal
from mcp_agent.scenarios.model.journal import Journal, RecordedRequest
from mcp_agent.scenarios.model.messages import MessagesDialect
from mcp_agent.scenarios.model.responses import ResponsesDialect

MODEL = "scripted-1"
"""The only model on offer; requests for any other name are answered all the same."""

Handler = Callable[[Request], Awaitable[Response]]


def build_app(journal: Journal, *, api_key: str) -> Starlette:
    """The application; every POST and the model list need `api_key`."""
    messages = MessagesDialect()
    routes = [
        Route("/", _alive, methods=["GET", "HEAD"]),
        Route("/v1/models", _guarded(_models, messages, journal, api_key=api_key), methods=["GET"]),
        Route(
            "/v1/messages/count_tokens",
            _guarded(_count_tokens, messages, journal, api_key=api_key),
            methods=["POST"],
        ),
    ]
    dialects: dict[str, Dialect] = {
        "/v1/messages": messages,
        "/v1/responses": ResponsesDialect(),
        "/v1/chat/completions": ChatCompletionsDialect(),
    }
    for path, dialect in dialects.items():
        handler = _guarded(_replying(dialect, journal), dialect, journal, api_key=api_key)
        routes.append(Route(path, handler, methods=["POST"]))
    return Starlette(routes=routes)


async def _alive(request: Request) -> Response:
    return Response()


async def _models(request: Request) -> Response:
    entry = {"id": MODEL, "object": "model", "type": "model", "display_name": MODEL, "owned_by": "scripted"}
    return JSONResponse({"object": "list", "data": [entry], "models": [], "has_more": False})


async def _count_tokens(request: Request) -> Response:
    return JSONResponse({"input_tokens": INPUT_TOKENS})


def _guarded(handler: Handler, dialect: Dialect, journal: Journal, *, api_key: str) -> Handler:
    """The handler behind the key and the refusal that a test may have set."""

    async def guarded(request: Request) -> Response:
        refusal = _refusal(request, journal, api_key)
        if refusal is None:
            return await handler(request)
        journal.refusals += 1
        error = dialect.error(refusal.status, refusal.words)
        return JSONResponse(refusal.body(error), refusal.status, dict(refusal.headers))

    return guarded


def _refusal(request: Request, journal: Journal, api_key: str) -> Refusal | None:
    if not _shows_key(request.headers, api_key):
        return Refusal(401, "invalid api key")
    return journal.refusal


def _shows_key(headers: Mapping[str, str], api_key: str) -> bool:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    shown = [headers.get("x-api-key", ""), token.strip() if scheme.lower() == "bearer" else ""]
    return any(secrets.compare_digest(key.encode(), api_key.encode()) for key in shown)


def _replying(dialect: Dialect, journal: Journal) -> Handler:
    async def handler(request: Request) -> Response:
        try:
            body = _object(await request.body())
            conversation = dialect.parse(body)
        except BadRequest as problem:
            journal.refusals += 1
            return JSONResponse(dialect.error(400, str(problem)), 400)
        reply = journal.mind(conversation)
        journal.requests.append(RecordedRequest(dialect.name, conversation, reply, body))
        model = str(body.get("model") or MODEL)
        if not body.get("stream"):
            return JSONResponse(dialect.document(reply, model=model))
        stream = (event.encode() for event in dialect.events(reply, model=model))
        return StreamingResponse(stream, media_type="text/event-stream", headers={"cache-control": "no-cache"})

    return handler


def _object(raw: bytes) -> Mapping[str, object]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as problem:
        raise BadRequest(f"the body is not JSON: {problem}") from problem
    if not isinstance(body, dict):
        raise BadRequest("the body is not a JSON object")
    return body
