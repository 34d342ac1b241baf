"""Work that goes on while no engine is open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.executions.engine import Job
from mcp_agent.executions.works import Works
from tests.server.conftest import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.executions.conftest import Household


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_new_job_waits_for_work_that_its_engine_does_not_know_to_run() -> None:
    ends, begun = anyio.Event(), list[str]()

    async def work(job: Job) -> str:
        begun.append(job.id)
        await ends.wait()
        return job.id

    async with anyio.create_task_group() as owner, anyio.create_task_group() as engine:
        works = Works(work, 1, owner)
        with anyio.move_on_after(0):
            await works.attend(Job("x-1", ""))
        engine.start_soon(works.attend, Job("x-2", ""))
        engine.start_soon(works.attend, Job("y-1", "", "2"))
        await anyio.wait_all_tasks_blocked()
        assert (begun, works.untold) == (["x-1", "y-1"], False)
        ends.set()
    assert (begun, works.untold) == (["x-1", "y-1", "x-2"], True)


@pytest.mark.anyio
async def test_work_that_raises_fails_for_whoever_asked_and_ends_nothing_else() -> None:
    async def work(_: Job) -> str:
        raise ValueError("the work is broken")

    async with anyio.create_task_group() as owner:
        works = Works(work, 1, owner)
        with pytest.raises(ValueError, match="the work is broken"):
            await works.attend(Job("x-1", ""))
        assert "x-1" not in works


@pytest.mark.contract("E1")
@pytest.mark.parametrize("database_url", [None])
def test_a_server_does_not_hold_its_engine_s_file_while_a_child_waits_and_its_death_loses_nothing(
    household: Household,
) -> None:
    gate = household.root / "gate"
    household.quirks["thinks_until"] = str(gate)
    execution = household.start("patience")["execution_id"]
    household.until_submitted("patience")
    eventually(lambda: not holds(household, household.server.state.engine))
    household.crash()
    household.start_again()
    assert household.get(execution)["state"] == "running"
    eventually(lambda: holds(household, household.server.state.engine))
    eventually(lambda: not holds(household, household.server.state.engine))
    gate.touch()
    assert household.end_of(execution)["final_text"] == "ECHO: patience"
    assert household.submitted() == ["patience"]


def holds(household: Household, path: Path) -> bool:
    """Whether the server has the file open."""
    return any(found == str(path) for found in links(Path(f"/proc/{household.server.pid}/fd")))


def links(directory: Path) -> Iterator[str]:
    for entry in directory.iterdir():
        try:
            yield str(entry.readlink())
        except FileNotFoundError:
            continue
