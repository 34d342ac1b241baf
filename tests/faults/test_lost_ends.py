"""The end of a turn that nothing tells, as when its hook could neither spool it nor hand it over."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import House, Json


@pytest.mark.contract("T10")
def test_an_interrupt_frees_a_session_whose_turn_never_ended(house: House) -> None:
    session = house.start(loses=["turn_end"])
    assert session.send("hello") == "delivered"
    session.until(lambda: "  ECHO: hello" in session.screen().lines)
    assert session.state == "busy"

    assert house.client.post(f"/sessions/{session.id}/interrupt", waits=True)["interrupted"]
    assert session.state == "ready"
    assert session.send("again") == "delivered"
    ended, runs = cast("list[Json]", house.client.get(f"/sessions/{session.id}/turns")["turns"])
    assert (ended["outcome"], ended["error"]) == ("interrupted", "its end was never told")
    assert (runs["prompt"], runs["outcome"], session.submitted) == ("again", None, ["hello", "again"])
