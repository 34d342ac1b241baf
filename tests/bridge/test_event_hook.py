"""The event hook: spools every event, pokes the server if it is there, and never disturbs the provider."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_agent.bridge import event_hook

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bridge.conftest import FakeServer

pytestmark = pytest.mark.contract("S3")


def hook(*arguments: str | Path, event: bytes, flags: str = "-I") -> list[Path]:
    """Run the hook, which must say nothing and end with 0; return what is spooled then."""
    command = [sys.executable, *flags.split(), str(Path(event_hook.__file__)), *map(str, arguments)]
    ended = subprocess.run(command, input=event, capture_output=True, check=False, timeout=20)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    return sorted(Path(arguments[0]).parent.glob("events/*")) if arguments else []


def test_an_event_is_spooled_byte_for_byte_and_the_server_is_told(
    server: FakeServer, session_file: Callable[..., Path]
) -> None:
    event = b'{ "hook_event_name": "Stop",\n "text": "\xc3\xbc" }\n'
    [spooled] = hook(session_file(), event=event)

    assert spooled.read_bytes() == event
    assert spooled.stat().st_mode & 0o777 == 0o600
    assert spooled.parent.stat().st_mode & 0o777 == 0o700
    [told] = server.asked
    assert (told.method, told.path) == ("POST", "/s/s-1/events")
    assert told.headers["Authorization"] == "Bearer token-of-this-test"


def test_events_are_ordered_by_their_names(session_file: Callable[..., Path]) -> None:
    path = session_file()
    for number in range(3):
        spooled = hook(path, event=b'{"n": %d}' % number)

    assert [file.read_bytes() for file in spooled] == [b'{"n": 0}', b'{"n": 1}', b'{"n": 2}']
    time_ns, _, pid = spooled[0].stem.partition("-")
    assert len(time_ns) == 20
    assert pid.isdigit()


def test_a_server_that_is_down_is_not_started_and_the_event_is_kept(
    short_tmp: Path, session_file: Callable[..., Path]
) -> None:
    started = short_tmp / "started"

    assert len(hook(session_file(start_server=["/usr/bin/touch", str(started)]), event=b"{}")) == 1
    assert not started.exists()


def test_a_server_that_does_not_answer_does_not_hold_the_provider_up(
    server: FakeServer, session_file: Callable[..., Path]
) -> None:
    server.behaviours["events"] = server.hangs

    assert len(hook(session_file(), event=b"{}")) == 1
    assert server.asked[0].hung_up.wait(20)


def test_an_event_of_8_mib_is_kept_whole(session_file: Callable[..., Path]) -> None:
    event = b'{"x":"' + b"y" * (8 * 1024 * 1024 - 8) + b'"}'
    [spooled] = hook(session_file(), event=event)

    assert spooled.read_bytes() == event


@pytest.mark.parametrize(
    "event", [b"", b"nonsense", b"[1]", b'{"cut": ', b'{"x":"\xff"}', b'{"x":"' + b"y" * (8 * 1024 * 1024) + b'"}']
)
def test_what_is_no_event_is_dropped_in_silence(session_file: Callable[..., Path], event: bytes) -> None:
    assert hook(session_file(), event=event) == []


def test_a_missing_or_broken_session_file_is_met_with_silence(
    session_file: Callable[..., Path], short_tmp: Path
) -> None:
    assert hook(event=b"{}") == []
    assert len(hook(session_file(token=None), event=b"{}")) == 1
    hook(short_tmp / "missing" / "bridge.json", event=b"{}")


def test_the_hook_needs_the_standard_library_only(session_file: Callable[..., Path]) -> None:
    assert len(hook(session_file(), event=b"{}", flags="-I -S")) == 1
