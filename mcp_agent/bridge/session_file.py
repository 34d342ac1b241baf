"""The session file: all that a bridge knows, readable by its owner only."""
# ruff: noqa: PTH123

import math

from .strict_json import loads


class SessionFileInvalid(Exception):
    """The file is not there or not what it should be; the message names the key and never a value."""


class Session:
    """What one session's bridge needs to reach the tool server, and to start it."""

    __slots__ = (
        "id",
        "long_running_seconds",
        "ordinary_seconds",
        "progress_seconds",
        "socket",
        "start_environment",
        "start_server",
        "token",
    )

    def __init__(self, record: dict[str, object]) -> None:
        limits = _mapping(record, "limits")
        self.id = _word(record, "session")
        self.token = _word(record, "token")
        self.socket = _text(record, "socket")
        self.start_server = _texts(record, "start_server")
        self.start_environment = _environment(record, "start_environment")
        self.ordinary_seconds = _seconds(limits, "ordinary_seconds")
        self.long_running_seconds = _seconds(limits, "long_running_seconds")
        self.progress_seconds = None
        if record.get("progress_seconds") is not None:
            self.progress_seconds = _seconds(record, "progress_seconds")


def read_session(path: str) -> Session:
    """Read and check the whole file; SessionFileInvalid names the first thing that is wrong with it."""
    try:
        with open(path, "rb") as file:
            record = loads(file.read())
    except OSError as error:
        raise SessionFileInvalid(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise SessionFileInvalid(f"{path} is not JSON") from error
    if not isinstance(record, dict):
        raise SessionFileInvalid(f"{path} is not a JSON object")
    try:
        return Session(record)
    except SessionFileInvalid as error:
        raise SessionFileInvalid(f"{path}: {error}") from None


def _text(record: dict[str, object], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value or "\0" in value:
        raise SessionFileInvalid(f"`{key}` must be a text")
    return value


def _word(record: dict[str, object], key: str) -> str:
    value = _text(record, key)
    if not (value.isascii() and value.isprintable() and " " not in value):
        raise SessionFileInvalid(f"`{key}` must be one word of plain characters")
    return value


def _texts(record: dict[str, object], key: str) -> list[str]:
    value = record.get(key)
    if not isinstance(value, list) or not value:
        raise SessionFileInvalid(f"`{key}` must be a list of texts")
    return [_text({key: item}, key) for item in value]


def _mapping(record: dict[str, object], key: str) -> dict[str, object]:
    value = record.get(key)
    if not isinstance(value, dict):
        raise SessionFileInvalid(f"`{key}` must be an object")
    return value


def _environment(record: dict[str, object], key: str) -> dict[str, str]:
    environment = {}
    for name, value in _mapping(record, key).items():
        if not isinstance(value, str) or "\0" in value or not name or "=" in name or "\0" in name:
            raise SessionFileInvalid(f"`{key}` must map names to texts")
        environment[name] = value
    return environment


def _seconds(record: dict[str, object], key: str) -> float:
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise SessionFileInvalid(f"`{key}` must be a positive number of seconds")
    return float(value)
