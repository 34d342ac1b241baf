"""The kept outputs of a call, by pages that never cut a character in two."""

from pathlib import Path
from typing import Literal

from mcp_agent.tools.bounds import SHOWN_BYTES, json_bytes

Stream = Literal["stdout", "stderr", "result"]
STREAMS: tuple[Stream, ...] = ("result", "stdout", "stderr")


def streams(directory: Path) -> dict[Stream, int]:
    """The sizes of the outputs that are kept of a call, in bytes."""
    return {name: (directory / name).stat().st_size for name in STREAMS if (directory / name).is_file()}


def last_output_at(directory: Path) -> float | None:
    """When the call wrote something last, as an epoch; None when it wrote nothing that is kept."""
    found = (directory / name for name in STREAMS)
    written = [path.stat() for path in found if path.is_file()]
    return max((file.st_mtime for file in written if file.st_size), default=None)


def page(directory: Path, stream: Stream | None, *, offset: int, limit: int) -> dict[str, object] | None:
    """A page of one output; None when there is no such output. `next_offset` is None at its end."""
    kept = streams(directory)
    name = stream if stream is not None else next(iter(kept), None)
    if name is None or name not in kept:
        return None
    with (directory / name).open("rb") as file:
        file.seek(offset)
        data = _fitting(_whole_characters(file.read(limit)))
    end = offset + len(data)
    return {
        "stream": name,
        "text": data.decode("utf-8", "replace"),
        "offset": offset,
        "next_offset": end if end < kept[name] else None,
        "total_bytes": kept[name],
    }


def _fitting(data: bytes) -> bytes:
    """The data, or as much of it as a model may be shown: what JSON has to escape becomes longer."""
    while (size := json_bytes(data.decode("utf-8", "replace"))) > SHOWN_BYTES:
        data = _whole_characters(data[: len(data) * SHOWN_BYTES // size])
    return data


def _whole_characters(data: bytes) -> bytes:
    """The data without the beginning of a character that ends on the next page."""
    for back in range(1, min(4, len(data)) + 1):
        lead = data[-back]
        if lead & 0xC0 != 0x80:
            needs = 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1
            return data[:-back] if back < needs and back < len(data) else data
    return data
