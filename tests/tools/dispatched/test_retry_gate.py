"""A call is not repeated while nobody knows what became of an identical one, unless somebody or something says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Decider, DuplicateAllowed, Event, Happened, Resolved, Verdict, WhyEnded
from mcp_agent.calls.ledger_rows import Row
from mcp_agent.errors import BadArguments, LedgerUnusable
from mcp_agent.tools import gating
from mcp_agent.tools import tool as tools
from mcp_agent.tools.gating import schema_of

if TYPE_CHECKING:
    from tests.tools.dispatched.conftest import Desk, Silent

pytestmark = [pytest.mark.anyio, pytest.mark.contract("W8")]


@pytest.fixture
async def unknown(desk: Desk, tool: Silent) -> Desk:
    """After a call whose wait ended and whose work still runs."""
    tool.seconds = 3600
    await desk.call("call_first", title="a")
    tool.seconds = 0
    return desk


async def test_an_identical_call_is_answered_with_the_earlier_record(unknown: Desk, tool: Silent) -> None:
    answer = await unknown.call("call_again", title="a")
    assert answer.text.startswith("This call was NOT run. An identical call of silent, call_first, was started")
    assert answer.structured is not None
    assert (answer.structured["gated"], answer.structured["call_id"]) == (True, "call_first")
    assert answer.structured["why_wait_ended"] == "tool_wait"
    assert unknown.ended("call_again") == (WhyEnded.RESULT, Happened.NOT_STARTED)
    assert unknown.record("call_again").gated_by == "call_first"
    assert tool.events == ["checked call_first"]


async def test_the_spelling_of_arguments_makes_no_other_call(unknown: Desk, tool: Silent) -> None:
    tool.seconds = 3600
    await unknown.call("call_2", b=2.0, a=1)
    assert unknown.record("call_2").gated_by is None
    again = await unknown.call("call_3", a=1.0, b=2)
    assert again.structured is not None
    assert again.structured["call_id"] == "call_2"


async def test_other_arguments_run(unknown: Desk) -> None:
    assert (await unknown.call("call_other", title="b")).text == "done"


async def test_another_session_runs(unknown: Desk) -> None:
    assert (await unknown.call("call_other", "s-2", title="a")).text == "done"


async def test_an_outcome_that_came_late_opens_the_gate_once_its_caller_was_told(unknown: Desk) -> None:
    await anyio.sleep(3600)
    told = await unknown.call("call_again", title="a")
    assert told.structured is not None
    assert (told.structured["outcome"], told.structured["call_id"]) == ("succeeded", "call_first")
    assert (await unknown.call("call_third", title="a")).text == "done"


async def test_an_outcome_that_was_looked_up_opens_the_gate(unknown: Desk) -> None:
    await anyio.sleep(3600)
    await unknown.ask("get_tool_call", "call_look", call_id="call_first")
    assert (await unknown.call("call_again", title="a")).text == "done"


async def test_news_beside_another_answer_does_not_open_the_gate(unknown: Desk) -> None:
    await anyio.sleep(3600)
    assert "NOTE" in (await unknown.call("call_other", title="b")).text
    assert (await unknown.call("call_again", title="a")).text.startswith("This call was NOT run.")


async def test_parallel_identical_calls_that_are_both_waited_for_run(desk: Desk, tool: Silent) -> None:
    tool.seconds = 60
    async with anyio.create_task_group() as group:
        group.start_soon(desk.call, "call_1")
        group.start_soon(desk.call, "call_2")
    assert tool.events == ["worked", "worked"]


async def test_a_run_that_is_explicitly_allowed_is_recorded_as_such(unknown: Desk, tool: Silent) -> None:
    answer = await unknown.call("call_again", title="a", allow_duplicate=True)
    assert answer.text == "done"
    record = unknown.record("call_again")
    assert record.duplicate_of == ("call_first",)
    assert DuplicateAllowed("call_first", Decider.AGENT) in [fact.event for fact in unknown.ledger.events("call_again")]
    assert record.arguments == {"title": "a"}
    assert tool.events == ["worked"]


async def test_permission_that_is_no_boolean_is_refused(unknown: Desk) -> None:
    with pytest.raises(BadArguments, match="allow_duplicate: must be true or false"):
        await unknown.call("call_again", title="a", allow_duplicate="yes")


@pytest.mark.parametrize("harmless", ["read_only", "idempotent"])
async def test_a_tool_whose_second_run_is_harmless_runs(unknown: Desk, tool: Silent, harmless: str) -> None:
    setattr(tool, harmless, True)
    assert (await unknown.call("call_again", title="a")).text == "done"
    assert unknown.record("call_again").duplicate_of == ()


async def test_evidence_that_it_did_not_happen_opens_the_gate(unknown: Desk, tool: Silent) -> None:
    tool.verdict = tools.Verdict("did_not_happen", "no trace of it")
    assert (await unknown.call("call_again", title="a")).text == "done"
    assert unknown.record("call_first").verdict is Verdict.DID_NOT_HAPPEN
    assert not unknown.record("call_first").is_unknown


async def test_evidence_that_it_happened_keeps_the_gate_shut_and_is_told(unknown: Desk, tool: Silent) -> None:
    tool.verdict = tools.Verdict("happened", "there it is")
    for call_id in ("call_again", "call_and_again"):
        answer = await unknown.call(call_id, title="a")
        assert "signs that it took effect" in answer.text
        assert answer.structured is not None
        assert answer.structured["evidence"] == "happened"
    assert len(unknown.record("call_first").evidence) == 1


async def test_a_check_of_arguments_that_the_tool_takes_no_more_cannot_tell(
    unknown: Desk, tool: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_tool: Silent, _arguments: object) -> None:
        raise BadArguments("silent", ["title: not known"])

    monkeypatch.setattr(type(tool), "validate", refuse)
    desk, first = unknown.dispatcher, unknown.record("call_first")
    found = await gating.evidence(tool, first, context=desk.context(unknown.caller, "call_first"))
    assert found is not None
    assert found.verdict is Verdict.CANNOT_TELL
    assert "title: not known" in found.detail


@pytest.mark.parametrize("happened", [False, True])
async def test_what_a_person_decided_opens_the_gate(unknown: Desk, happened: bool) -> None:
    unknown.ledger.append("call_first", Resolved(happened, "I looked", Decider.OWNER))
    assert (await unknown.call("call_again", title="a")).text == "done"


async def test_only_gated_tools_are_listed_with_the_permission(desk: Desk, tool: Silent) -> None:
    tool.input_schema = {"type": "object", "properties": {"title": {"type": "string"}}, "additionalProperties": False}
    shown: Any = schema_of(tool)
    assert set(shown["properties"]) == {"title", "allow_duplicate"}
    assert "allow_duplicate" not in str(tool.input_schema)
    for look_up in ("get_tool_call", "list_tool_calls", "wait_tool_call", "get_tool_output"):
        assert "allow_duplicate" not in str(schema_of(desk.dispatcher.tools[look_up]))
    for harmless in ("read_only", "idempotent"):
        changed: Any = replace(tool)
        setattr(changed, harmless, True)
        assert schema_of(changed) is changed.input_schema


async def test_a_tools_own_parameter_of_that_name_stays_its_own(desk: Desk, tool: Silent) -> None:
    tool.input_schema = {"properties": {"allow_duplicate": {"type": "string"}}}
    tool.seconds = 3600
    await desk.call("call_1", allow_duplicate="often")
    assert desk.record("call_1").arguments == {"allow_duplicate": "often"}
    assert schema_of(tool) is tool.input_schema


async def test_a_permission_that_cannot_be_written_down_starts_nothing(
    unknown: Desk, tool: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(ledger: Ledger, call_id: str, *events: Event) -> None:
        ledger.unwritten.extend(Row.of(call_id, event, at=0.0) for event in events)
        raise LedgerUnusable(ledger.path, "the disk is full")

    monkeypatch.setattr(Ledger, "append", full)
    with pytest.raises(LedgerUnusable):
        await unknown.call("call_again", title="a", allow_duplicate=True)
    monkeypatch.undo()
    assert tool.events == []
    assert unknown.ended("call_again") == (WhyEnded.RESULT, Happened.NOT_STARTED)
