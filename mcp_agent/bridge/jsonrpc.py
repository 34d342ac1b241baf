"""JSON-RPC 2.0 as MCP uses it over stdio: one object a line, no batches."""

from .strict_json import loads

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

RequestId = int | str
Message = dict[str, object]


class RpcError(Exception):
    """A message that gets an error for an answer; the id is None where none could be read."""

    def __init__(self, code: int, message: str, request_id: RequestId | None = None) -> None:
        self.code, self.request_id = code, request_id
        super().__init__(message)

    def answer(self) -> Message:
        return error(self.request_id, self.code, str(self))


class Request:
    """A message that must be answered."""

    __slots__ = ("id", "method", "params")

    def __init__(self, request_id: RequestId, method: str, params: Message) -> None:
        self.id, self.method, self.params = request_id, method, params


class Notification:
    """A message that must not be answered."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: Message) -> None:
        self.method, self.params = method, params


def parse(line: bytes) -> Request | Notification | None:
    """What a line means; None for a response, since nothing was asked. Raises RpcError."""
    try:
        message = loads(line)
    except ValueError as problem:
        raise RpcError(PARSE_ERROR, "not one line of UTF-8 JSON") from problem
    if not isinstance(message, dict):
        raise RpcError(INVALID_REQUEST, "not a JSON object; batches are not part of this protocol")
    if "method" not in message and ("result" in message or "error" in message):
        return None
    return _checked(message)


def _checked(message: Message) -> Request | Notification:
    request_id = as_id(message["id"]) if "id" in message else None
    method = message.get("method")
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, 'a request has "jsonrpc": "2.0" and a method', request_id)
    params = message.get("params")
    if params is None:
        params = {}
    if request_id is None:
        return Notification(method, params if isinstance(params, dict) else {})
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "params must be an object", request_id)
    return Request(request_id, method, params)


def as_id(value: object) -> RequestId:
    if isinstance(value, int | str) and not isinstance(value, bool):
        return value
    raise RpcError(INVALID_REQUEST, "an id is a string or an integer")


def result(request_id: RequestId, value: Message) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def error(request_id: RequestId | None, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def notification(method: str, params: Message) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}
