"""A ledger that cannot be used says so in one line, before any work; what it holds is never destroyed."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Happened, Outcome, Progress, WaitEnded, WhyEnded
from mcp_agent.calls.ledger_file import SCHEMA_VERSION
from mcp_agent.errors import LedgerUnusable

if TYPE_CHECKING:
    from pathlib import Path

    from tests.calls.ledger.conftest import Place

pytestmark = pytest.mark.contract("W6")

PAGE = 4096


@pytest.fixture
def own_disk(place: Place) -> list[str]:
    """What runs a program on a disk of 300 kB that is mounted for it alone, over the ledger's directory."""
    unshare = ["unshare", "--mount", "--map-root-user"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this machine lets nobody mount a file system of his own")
    mount = f'mount -t tmpfs -o size=300k tmpfs "{place.path.parent}" && exec "$@"'
    return [*unshare, "sh", "-c", mount, "sh"]


def test_a_full_disk_refuses_the_call_and_loses_nothing(place: Place, own_disk: list[str]) -> None:
    printed = place.run_child(
        """
ledger = Ledger.open(path)
filler = path.with_name("filler")
filler.write_bytes(b"x" * 60_000)
taken = 0
try:
    while True:
        ledger.intent(f"call_{taken}", intent(text="x" * 2000))
        taken += 1
except LedgerUnusable as error:
    print(error.problem)
print(len(ledger.list(limit=1000)) == taken > 3)
try:
    for number in range(taken):
        ledger.append(f"call_{number}", Outcome(Happened.SUCCEEDED, "y" * 3000, late=True))
except LedgerUnusable as error:
    print(error.problem, number)
with Ledger.read_only(path) as other:
    print(other.get(f"call_{number}").happened, ledger.get(f"call_{number}").happened)
print(f"call_{number}" in [call.call_id for call in ledger.late_unoffered("s-1")])
filler.unlink()
ledger.append("call_0", Progress())
with Ledger.read_only(path) as other:
    print(other.get(f"call_{number}").happened, len(other.list(limit=1000)) == taken)
""",
        *own_disk,
    ).splitlines()

    full = "the disk is full; free some space"
    number = printed[2].rpartition(" ")[2]
    assert printed == [full, "True", f"{full} {number}", "None succeeded", "True", "succeeded True"]


def test_a_full_disk_refuses_a_new_ledger(place: Place, own_disk: list[str]) -> None:
    printed = place.run_child(
        """
try:
    path.with_name("filler").write_bytes(b"x" * 1_000_000)
except OSError:
    pass
try:
    Ledger.open(path)
except LedgerUnusable as error:
    print(error.problem)
""",
        *own_disk,
    )

    assert printed == "the disk is full; free some space\n"


def test_a_read_only_disk_is_reported(place: Place, own_disk: list[str]) -> None:
    printed = place.run_child(
        """
import subprocess
Ledger.open(path).close()
subprocess.run(["mount", "-o", "remount,ro", path.parent], check=True)
for name in (path, path.with_name("new")):
    try:
        Ledger.open(name)
    except LedgerUnusable as error:
        print(error.problem)
""",
        *own_disk,
    )

    assert printed == "it cannot be opened\nRead-only file system\n"


def test_a_file_that_may_not_be_written_refuses_the_call_and_can_be_read(place: Place) -> None:
    with place.open() as ledger:
        ledger.intent("call_1", place.intent())
    place.path.chmod(0o400)
    content = place.path.read_bytes()

    printed = place.run_child(
        """
with Ledger.open(path) as ledger:
    print(ledger.get("call_1").is_open)
    try:
        ledger.intent("call_2", intent())
    except LedgerUnusable as error:
        print(error.problem)
""",
        *without_privileges(),
    )

    assert printed == "True\nit cannot be written\n"
    assert place.path.read_bytes() == content


def test_a_damaged_header_is_reported_and_the_file_is_left_as_it_is(place: Place) -> None:
    content = damaged(place, first=0)

    with pytest.raises(
        LedgerUnusable, match=r"calls\.sqlite: it is another program.s file, or damaged, and was left as it is; move"
    ):
        place.open()
    with pytest.raises(LedgerUnusable, match="was left as it is"):
        Ledger.read_only(place.path)
    assert place.path.read_bytes() == content


def test_damage_further_in_is_reported_by_the_call_that_meets_it(place: Place) -> None:
    content = damaged(place, first=PAGE)

    with place.open() as ledger, pytest.raises(LedgerUnusable, match="it is damaged, and was left as it is; move"):
        ledger.intent("call_new", place.intent())
    with Ledger.read_only(place.path) as reader, pytest.raises(LedgerUnusable, match="it is damaged"):
        reader.get("call_1")
    assert place.path.read_bytes()[PAGE:] == content[PAGE:]


def test_a_damaged_ledger_never_says_that_a_call_was_not_made(place: Place) -> None:
    damaged(place, first=PAGE)

    with place.open() as ledger:
        with pytest.raises(LedgerUnusable, match="it is damaged"):
            ledger.similar("s-1", "publish", digest="d-1")
        with pytest.raises(LedgerUnusable, match="it is damaged"):
            ledger.late_unoffered("s-1")


def test_a_directory_in_its_place_is_reported(place: Place) -> None:
    place.path.mkdir()

    with pytest.raises(LedgerUnusable, match="it is not a regular file"):
        place.open()
    with pytest.raises(LedgerUnusable, match="it is not a regular file"):
        Ledger.read_only(place.path)


def test_a_missing_directory_is_reported(place: Place) -> None:
    place.path = place.path.parent / "nowhere" / "calls.sqlite"

    with pytest.raises(LedgerUnusable, match="No such file or directory"):
        place.open()


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        (SCHEMA_VERSION + 1, rf"a newer version of mcp-agent wrote it \(schema {SCHEMA_VERSION + 1}\); upgrade this"),
        (SCHEMA_VERSION - 1, rf"an older version .*\(schema {SCHEMA_VERSION - 1}\), which .*; move it away to start"),
    ],
    ids=["newer", "older"],
)
def test_a_file_of_another_version_is_reported_and_not_touched(place: Place, version: int, problem: str) -> None:
    place.open().close()
    with sqlite3.connect(place.path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    content = place.path.read_bytes()

    for opening in (Ledger.open, Ledger.read_only):
        with pytest.raises(LedgerUnusable, match=problem):
            opening(place.path)
    assert place.path.read_bytes() == content


def test_another_programs_database_is_not_touched(place: Place) -> None:
    with sqlite3.connect(place.path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    content = place.path.read_bytes()

    with pytest.raises(LedgerUnusable, match="it is another program's database"):
        place.open()
    assert place.path.read_bytes() == content


def test_every_file_is_private_whatever_the_mask_or_the_mode_before(place: Place) -> None:
    place.open().close()
    place.path.chmod(0o644)
    with place.open() as ledger:
        ledger.intent("call_1", place.intent())
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in place.path.parent.iterdir()}

    assert modes == dict.fromkeys(("calls.sqlite", "calls.sqlite-wal", "calls.sqlite-shm"), 0o600)


def test_a_path_that_looks_like_an_address_is_still_a_path(place: Place) -> None:
    place.path = place.path.parent / "100%?mode=memory#1" / "calls.sqlite"
    place.path.parent.mkdir()
    place.open().close()

    assert place.path.stat().st_size > 0


def test_a_reader_of_a_ledger_that_is_not_there_finds_it_empty_and_makes_nothing(place: Place) -> None:
    with Ledger.read_only(place.path) as reader:
        assert reader.list() == ()
    assert not place.path.exists()

    place.path.touch()
    with Ledger.read_only(place.path) as reader:
        assert reader.open_calls() == ()


def test_a_lock_that_is_never_given_back_is_reported_and_the_fact_is_kept(place: Place, ledger: Ledger) -> None:
    ledger.intent("call_1", place.intent())
    other = held(place.path)
    ledger.connection.execute("PRAGMA busy_timeout = 0")

    with pytest.raises(LedgerUnusable, match="another process holds its lock"):
        ledger.append("call_1", WaitEnded(WhyEnded.RESULT, 1.0), Outcome(Happened.SUCCEEDED))
    assert (ledger.get("call_1").happened, ledger.open_calls()) == (Happened.SUCCEEDED, ())

    other.close()
    ledger.close()
    with Ledger.read_only(place.path) as reader:
        assert reader.get("call_1").happened is Happened.SUCCEEDED


def test_a_fact_that_could_not_be_written_does_not_block_others_when_its_call_is_gone(
    place: Place, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    ledger.intent("call_1", place.intent())
    other = held(place.path)
    ledger.connection.execute("PRAGMA busy_timeout = 0")
    with pytest.raises(LedgerUnusable):
        ledger.append("call_1", Outcome(Happened.SUCCEEDED))
    other.execute("DELETE FROM events WHERE call_id = 'call_1'")
    other.execute("COMMIT")
    other.close()

    ledger.intent("call_2", place.intent())

    assert [call.call_id for call in ledger.list()] == ["call_2"]
    assert "lost a fact of call call_1: outcome" in caplog.text


def test_what_can_never_be_written_is_in_the_log(
    place: Place, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    ledger.intent("call_1", place.intent())
    other = held(place.path)
    ledger.connection.execute("PRAGMA busy_timeout = 0")
    with pytest.raises(LedgerUnusable):
        ledger.append("call_1", Progress())

    with caplog.at_level(logging.ERROR):
        ledger.close()
    other.close()
    assert 'lost a fact of call call_1: progress {"text":null}' in caplog.text


def without_privileges() -> list[str]:
    """What runs a program that file modes bind, even when root runs it."""
    if os.getuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write any file, and nothing here takes that from it")
    return ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]


def damaged(place: Place, *, first: int) -> bytes:
    """Overwrite a ledger of a hundred calls from this byte on; its new content."""
    with place.open() as ledger:
        for number in range(100):
            ledger.intent(f"call_{number}", place.intent())
    content = place.path.read_bytes()
    place.path.write_bytes(content[:first] + b"\xa5" * (len(content) - first))
    return place.path.read_bytes()


def held(path: Path) -> sqlite3.Connection:
    """Another connection that holds the lock of writers until it is closed."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return connection
