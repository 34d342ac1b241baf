"""One `tools/call`: whatever becomes of it, the answer is an ordinary result that the model can act on."""

from collections.abc import Generator

from . import texts
from .jsonrpc import INVALID_PARAMS, Message, Request, RpcError
from .loop import Wait
from .server_api import BadAnswer, Refused, ToolServer
from .strict_json import dumps
from .unix_http import ConnectionLost, DeadlinePassed, NotSent


class ToolCall:
    """The parameters of one call, checked. Raises RpcError for ones that no server could answer."""

    __slots__ = ("body", "name", "progress_token")

    def __init__(self, request: Request) -> None:
        name, arguments = request.params.get("name"), request.params.get("arguments")
        if not isinstance(name, str) or not name:
            raise RpcError(INVALID_PARAMS, "params.name must be the name of a tool", request.id)
        if not (arguments is None or isinstance(arguments, dict)):
            raise RpcError(INVALID_PARAMS, "params.arguments must be an object", request.id)
        try:
            self.body = dumps(arguments or {})
        except ValueError as error:
            raise RpcError(INVALID_PARAMS, f"params.arguments: {error}", request.id) from error
        self.name = name
        self.progress_token = _progress_token(request.params.get("_meta"))

    def run(self, server: ToolServer) -> Generator[Wait, bool, Message]:
        """Do the call and return the MCP result."""
        call = texts.Call(server.session.id, self.name, server.session.ordinary_seconds)
        try:
            tool = yield from server.find(self.name)
            call.limit_seconds = server.limit_seconds(tool)
            text, structured = yield from server.call(
                tool, body=self.body, call_id=call.call_id, deadline=call.deadline
            )
        except NotSent as error:
            return _result(texts.not_started(call, str(error)))
        except DeadlinePassed:
            return _result(texts.timed_out(call))
        except Refused as error:
            return _result(texts.refused(call, str(error)))
        except (ConnectionLost, BadAnswer) as error:
            return _result(texts.unknown(call, str(error)))
        return _result(text, structured)


def _progress_token(meta: object) -> int | str | None:
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if isinstance(token, int | str) and not isinstance(token, bool) else None


def _result(text: str, structured: object = None) -> Message:
    result: Message = {"content": [{"type": "text", "text": text}]}
    if structured is not None:
        result["structuredContent"] = structured
    return result
