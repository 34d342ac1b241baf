"""Several threads and processes use one ledger, and none of their facts is lost."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Decider, Progress, WaitEnded, WhyEnded

if TYPE_CHECKING:
    import subprocess

    from tests.calls.ledger.conftest import Place

pytestmark = pytest.mark.contract("W6")

WAIT_FOR_START = """
print("ready", flush=True)
sys.stdin.readline()
"""


def start_together(place: Place, *programs: str) -> None:
    """Run the programs at once; all must end well."""
    children = [place.child(WAIT_FOR_START + program) for program in programs]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n", child.communicate()[1]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    endings = [ended(child) for child in children]
    assert endings == [(0, "")] * len(children)


def ended(child: subprocess.Popen[str]) -> tuple[int, str]:
    with child:
        _, complaints = child.communicate(timeout=60.0)
    return child.returncode, complaints


def test_processes_that_make_the_file_at_the_same_time_all_get_it(place: Place) -> None:
    start_together(
        place, *(f'with Ledger.open(path) as ledger: ledger.intent("call_{number}", intent())' for number in range(6))
    )

    with Ledger.read_only(place.path) as reader:
        assert {call.call_id for call in reader.list()} == {f"call_{number}" for number in range(6)}


@pytest.mark.contract("W7")
def test_of_two_processes_that_resolve_one_call_the_first_decides_and_both_are_kept(place: Place) -> None:
    with place.open() as ledger:
        ledger.intent("call_1", place.intent())
        ledger.append("call_1", WaitEnded(WhyEnded.TOOL_WAIT, 900.0))
        resolve = 'with Ledger.open(path) as ledger: ledger.append("call_1", Resolved({}, "", Decider.{}))'

        start_together(place, resolve.format(True, "OWNER"), resolve.format(False, "AGENT"))

        state = ledger.get("call_1")
        written = [record.event for record in ledger.events("call_1")][2:]
    assert list(state.resolutions) == written
    assert state.resolution == written[0]
    assert {resolved.by for resolved in state.resolutions} == {Decider.OWNER, Decider.AGENT}
    (said,) = state.contradictions
    assert said.startswith("people decided that it ")


def test_a_process_that_only_reads_sees_each_fact_as_soon_as_it_is_written(place: Place, ledger: Ledger) -> None:
    ledger.intent("call_1", place.intent())
    program = """
with Ledger.read_only(path) as reader:
    for expected in sys.stdin:
        print(len(reader.events("call_1")), flush=True)
"""
    with place.child(program) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for count in (2, 3, 4):
            ledger.append("call_1", Progress())
            child.stdin.write("look\n")
            child.stdin.flush()
            assert child.stdout.readline() == f"{count}\n"
        child.stdin.close()


def test_a_reader_writes_nothing(place: Place, ledger: Ledger) -> None:
    ledger.intent("call_1", place.intent())

    with Ledger.read_only(place.path) as reader:
        assert not isinstance(reader, Ledger)
        with pytest.raises(Exception, match="readonly"):
            reader.connection.execute("DELETE FROM events")


def test_threads_of_one_process_lose_nothing(place: Place, ledger: Ledger) -> None:
    start = threading.Barrier(4)

    def work(name: int) -> None:
        start.wait(timeout=30)
        for number in range(25):
            ledger.intent(f"call_{name}_{number}", place.intent(session_id=f"s-{name}"))
            ledger.append(f"call_{name}_{number}", Progress(), WaitEnded(WhyEnded.RESULT, 1.0))
            assert ledger.get(f"call_{name}_{number}").why is WhyEnded.RESULT
            assert len(ledger.list(session=f"s-{name}")) == number + 1

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))

    assert len(ledger.list(limit=1000)) == 100
    assert ledger.open_calls() == ()
