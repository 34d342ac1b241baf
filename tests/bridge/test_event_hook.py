"""The event hook: spools every event, pokes the server if it is there, and never disturbs the provider."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_agent.bridge import event_hook

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bridge.conftest import Asked, FakeServer

pytestmark = pytest.mark.contract("S3")


def hook(*arguments: str | Path, event: bytes, flags: str = "-I", status: int = 0) -> list[Path]:
    """Run the hook, which must say nothing and end with this status; return what is spooled then."""
    command = [sys.executable, *flags.split(), str(Path(event_hook.__file__)), *map(str, arguments)]
    ended = subprocess.run(command, input=event, capture_output=True, check=False, timeout=20)
    assert (ended.returncode, ended.stdout, ended.stderr) == (status, b"", b"")
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


def test_an_event_that_cannot_be_spooled_is_handed_to_the_server(
    server: FakeServer, session_file: Callable[..., Path]
) -> None:
    path = session_file()
    path.with_name("events").touch()

    hook(path, event=b'{"n": 1}')
    [handed] = server.asked
    assert (handed.method, handed.path, handed.body) == ("POST", "/s/s-1/events", b'{"n": 1}')
    assert len(handed.headers["X-Event-Name"].partition("-")[0]) == 20


def test_an_event_that_nobody_takes_at_first_is_spooled_as_soon_as_that_works(
    server: FakeServer, session_file: Callable[..., Path]
) -> None:
    path = session_file()
    path.with_name("events").touch()

    def refuses(asked: Asked) -> None:
        if asked.body:
            path.with_name("events").unlink()
        server.answers({}, status=500)(asked)

    server.behaviours["events"] = refuses
    [spooled] = hook(path, event=b'{"n": 1}')
    handed, told = server.asked
    assert spooled.read_bytes() == b'{"n": 1}'
    assert (handed.headers["X-Event-Name"], handed.body, told.body) == (spooled.stem, b'{"n": 1}', b"")


def test_an_event_that_is_lost_is_told_by_the_exit_status(session_file: Callable[..., Path]) -> None:
    path = session_file()
    path.with_name("events").touch()

    assert hook(path, event=b"{}", status=1) == []


def test_a_file_that_could_not_be_written_whole_is_not_left(
    session_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = session_file().with_name("events")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr("os.rename", full)
    assert not event_hook.spool(b"{}", str(directory), "1")
    assert list(directory.iterdir()) == []


def test_the_hook_needs_the_standard_library_only(session_file: Callable[..., Path]) -> None:
    assert len(hook(session_file(), event=b"{}", flags="-I -S")) == 1
