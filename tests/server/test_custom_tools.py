"""Tools of the user's own inside a server: what they do wrong costs only themselves."""

from __future__ import annotations

import importlib
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest

from mcp_agent.calls import running as calls_running
from mcp_agent.calls.digest import digest
from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Intent
from mcp_agent.config import Config, Tools
from mcp_agent.processes import ProcessIdentity
from mcp_agent.server.app import create_app
from mcp_agent.server.runtime import Runtime
from mcp_agent.state import StateDirectory
from tests.server.conftest import BOUND_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.anyio

MODULE = '''
import asyncio, sys, threading
from mcp_agent.tools.custom import tool

BEGAN, GATE = threading.Event(), threading.Event()

@tool(read_only=True)
def greet(name: str) -> dict[str, str]:
    """Greet somebody."""
    print("greeting", name)
    return {"greeting": f"hello {name}"}

@tool
def leave() -> None:
    """Exit."""
    sys.exit(3)

@tool
def unshowable() -> object:
    """Answer what JSON cannot hold."""
    return {1, 2}

@tool
def hang() -> str:
    """Block a thread."""
    BEGAN.set()
    GATE.wait()
    return "late"

@tool
async def stubborn() -> str:
    """Swallow what tells it to stop, until it is let go."""
    while not GATE.is_set():
        BEGAN.set()
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            pass
    return "late"

def made_here(call):
    return "happened" if (call.context.working_directory / call.arguments["name"]).exists() else "did_not_happen"

@tool(check=made_here)
def make(name: str) -> str:
    """Make a file in the working directory."""
    raise TimeoutError("nobody knows")

@tool
async def own_parameter(allow_duplicate: str) -> str:
    """Take a parameter that the gate has too."""
    return allow_duplicate
'''


@dataclass
class Owner:
    """The owner of a server in this process."""

    runtime: Runtime
    http: httpx.AsyncClient
    module: Any
    numbers: list[int] = field(default_factory=list)

    async def call(self, tool: str, *, working_directory: str = "/", **arguments: object) -> dict[str, Any]:
        self.numbers.append(0)
        headers = {"X-Call-Id": f"call_{len(self.numbers)}"}
        where = {"working_directory": working_directory}
        answer = await self.http.post(f"/tools/custom/{tool}", json=arguments, headers=headers, params=where)
        return {"status": answer.status_code, **answer.json()}


@pytest.fixture
def own_tools(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of the user's own, beside one that is broken."""
    (short_tmp / "own_tools_of_a_test.py").write_text(MODULE)
    (short_tmp / "broken_tools_of_a_test.py").write_text("import nothing_of_that_name\n")
    monkeypatch.syspath_prepend(short_tmp)
    module: Any = importlib.import_module("own_tools_of_a_test")
    yield module
    module.GATE.set()
    for name in ("own_tools_of_a_test", "broken_tools_of_a_test"):
        sys.modules.pop(name, None)


@asynccontextmanager
async def asking(runtime: Runtime) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {runtime.owner_token}"}
    transport = httpx.ASGITransport(create_app(runtime))
    async with httpx.AsyncClient(transport=transport, base_url="http://mcp-agent", headers=headers) as http:
        yield http


@pytest.fixture
async def owner(short_tmp: Path, own_tools: Any) -> AsyncIterator[Owner]:
    state = StateDirectory(short_tmp / "home")
    state.create()
    config = Config(tools=Tools(modules=("own_tools_of_a_test", "broken_tools_of_a_test")))
    with anyio.fail_after(BOUND_SECONDS):
        async with Runtime.open(state, config) as runtime, asking(runtime) as http:
            yield Owner(runtime, http, own_tools)


async def test_the_tools_of_a_module_are_listed_and_what_is_broken_is_told(owner: Owner) -> None:
    listed = (await owner.http.get("/tools")).json()
    shown = {tool["name"]: tool for tool in listed["tools"] if tool["category"] == "custom"}
    assert set(shown) == {"greet", "leave", "unshowable", "hang", "stubborn", "make", "own_parameter"}
    assert "allow_duplicate" in shown["leave"]["inputSchema"]["properties"]
    assert "allow_duplicate" not in shown["greet"]["inputSchema"]["properties"]
    assert shown["own_parameter"]["inputSchema"]["properties"]["allow_duplicate"]["type"] == "string"
    (problem,) = listed["problems"]
    assert "broken_tools_of_a_test" in problem
    assert "nothing_of_that_name" in problem
    assert problem in (await owner.http.get("/server")).json()["warnings"]


async def test_a_tool_answers_and_is_recorded(owner: Owner) -> None:
    answer = await owner.call("greet", name="Ada")
    assert answer["structured"] == {"greeting": "hello Ada"}
    call = owner.runtime.ledger.get("call_1")
    assert (call.session_id, call.tool, call.category, call.happened) == ("owner", "greet", "custom", "succeeded")


@pytest.mark.contract("W7", "T9")
@pytest.mark.parametrize(
    ("tool", "says", "happened"),
    [("leave", "ToolCrashed: SystemExit: 3", "unknown"), ("unshowable", "The work was done", "succeeded")],
)
async def test_a_tool_that_goes_wrong_is_told_and_the_server_lives(
    owner: Owner, tool: str, says: str, happened: str
) -> None:
    answer = await owner.call(tool)
    assert answer["status"] == 200
    assert says in answer["text"]
    assert owner.runtime.ledger.get("call_1").happened == happened
    assert (await owner.call("greet", name="Ada"))["status"] == 200


@pytest.mark.contract("C6", "W5")
async def test_a_thread_that_blocks_holds_up_no_other_call_and_cancelling_it_leaves_unknown(owner: Owner) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(owner.call, "hang")
        await anyio.to_thread.run_sync(owner.module.BEGAN.wait, BOUND_SECONDS)
        assert (await owner.call("greet", name="Ada"))["structured"] == {"greeting": "hello Ada"}
        (running,) = [call.call_id for call in owner.runtime.ledger.open_calls()]
        shown = (await owner.http.delete(f"/calls/{running}")).json()
        assert (shown["why_ended"], shown["happened"], shown["unknown"]) == ("cancel", "unknown", True)
        assert "may still be running" in shown["detail"]
    owner.module.GATE.set()


@asynccontextmanager
async def running_stubborn(owner: Owner) -> AsyncIterator[str]:
    """The id of a call that does not stop when it is told to."""
    async with anyio.create_task_group() as group:
        group.start_soon(owner.call, "stubborn")
        await anyio.to_thread.run_sync(owner.module.BEGAN.wait, BOUND_SECONDS)
        (running,) = [call.call_id for call in owner.runtime.ledger.open_calls()]
        yield running
        owner.module.GATE.set()


@pytest.mark.contract("C1", "W7")
async def test_a_cancellation_whose_clean_up_takes_too_long_is_not_called_done(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls_running, "CLEANUP_LIMIT", timedelta(milliseconds=50))
    async with running_stubborn(owner) as call_id:
        shown = (await owner.http.delete(f"/calls/{call_id}")).json()
        assert (shown["cancelled"], shown["still_runs"]) == (True, True)


@pytest.mark.contract("W5", "W8")
async def test_nobody_decides_about_work_that_still_runs_and_no_pruning_forgets_it(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls_running, "CLEANUP_LIMIT", timedelta(milliseconds=50))
    async with running_stubborn(owner) as call_id:
        await owner.http.delete(f"/calls/{call_id}")
        decided = await owner.http.post(f"/calls/{call_id}/resolve", json={"happened": False})
        assert (decided.status_code, "still runs" in decided.text) == (400, True)
        assert (await owner.http.post("/calls/prune?days=0")).json() == {"forgotten": 0}


@pytest.mark.contract("W8")
async def test_a_second_decision_that_says_otherwise_is_refused(owner: Owner) -> None:
    await owner.call("leave")
    resolve = "/calls/call_1/resolve"
    assert (await owner.http.post(resolve, json={"happened": False})).status_code == 200
    assert (await owner.http.post(resolve, json={"happened": False, "note": "again"})).status_code == 200
    refused = await owner.http.post(resolve, json={"happened": True})
    assert (refused.status_code, "decided before" in refused.text) == (400, True)
    assert (await owner.http.get("/calls/call_1")).json()["contradictions"] == []


@pytest.mark.contract("W9")
async def test_a_check_looks_where_the_earlier_call_ran(owner: Owner, short_tmp: Path) -> None:
    elsewhere = short_tmp / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "page").touch()
    await owner.call("make", name="page", working_directory=str(elsewhere))
    gated = await owner.call("make", name="page")
    assert "A check found signs that it took effect" in gated["text"]


@pytest.mark.contract("W6", "W9")
async def test_after_a_crash_a_check_looks_where_the_lost_call_ran(short_tmp: Path, own_tools: Any) -> None:
    state = StateDirectory(short_tmp / "home")
    state.create()
    (short_tmp / "page").touch()
    gone = ProcessIdentity(2**22 + 1, 1, "an earlier boot")
    with Ledger.open(state.ledger) as ledger:
        asked = {"name": "page"}
        intent = Intent("s-1", "make", "custom", asked, digest("make", asked), None, 9.0, None, gone, False, False)
        ledger.intent("call_lost", replace(intent, working_directory=str(short_tmp)))
        ledger.intent("call_nowhere", replace(intent, session_id="s-2"))
    config = Config(tools=Tools(modules=("own_tools_of_a_test",)))
    with anyio.fail_after(BOUND_SECONDS):
        async with Runtime.open(state, config) as runtime:
            found = {call_id: await evidence_of(runtime, call_id) for call_id in ("call_lost", "call_nowhere")}
    assert found == {"call_lost": "happened", "call_nowhere": "cannot_tell"}


async def evidence_of(runtime: Runtime, call_id: str) -> str:
    while not (evidence := runtime.ledger.get(call_id).evidence):
        await anyio.lowlevel.checkpoint()
    return evidence[0].verdict


async def test_a_parameter_of_the_tools_own_is_passed_on(owner: Owner) -> None:
    assert (await owner.call("own_parameter", allow_duplicate="often"))["text"] == "often"
