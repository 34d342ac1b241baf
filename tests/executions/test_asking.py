"""What a child inherits from its caller, what its configuration says, and what no call can widen."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mcp_agent.adapter import ModelEndpoint
from mcp_agent.config import Config, Sessions
from mcp_agent.errors import BadConfiguration, BadDeadline, TooDeep, UnknownAgent, UsageError, WorktreeNotMade
from mcp_agent.executions.asking import Admission, Caller, Wish
from mcp_agent.executions.children import make_worktree
from mcp_agent.executions.live_children import LiveChildren
from mcp_agent.executions.records import DeliveryState, ExecutionRecord
from mcp_agent.sessions.record import SessionOptions
from tests.sessions.conftest import Plain

NOW = 1000.0


@pytest.fixture
def place(short_tmp: Path) -> Path:
    (short_tmp / "other").mkdir()
    return short_tmp


def options(place: Path, **more: Any) -> SessionOptions:
    return SessionOptions("plain", place, {"PATH": os.environ["PATH"]}, **more)


def record_of(wish: Wish, caller: Caller, config: Config | None = None) -> ExecutionRecord:
    admission = Admission(config or Config(), lambda _: Plain(), frozenset({"look_up"}), lambda: NOW)
    return admission.record_of(wish, caller)[0]


@pytest.mark.contract("E1")
def test_a_child_has_what_its_caller_has_and_no_wish_of_an_agent_widens_that(place: Path) -> None:
    caller = Caller(
        options(place, tools=frozenset("ab"), allow_tools=frozenset("a"), trust=True, permission_mode="all"),
        session_id="s-1",
        call_id="call_1",
    )
    child = record_of(Wish("do", provider="plain", tools=frozenset("bc")), caller).child
    assert (child.tools, child.allow_tools, child.permission_mode) == (frozenset("b"), frozenset("a"), None)
    assert child.trust
    elsewhere = Wish("do", provider="plain", working_directory=place / "other")
    assert not record_of(elsewhere, caller).child.trust
    assert record_of(elsewhere, replace(caller, call_id=None)).child.trust
    trusted = Config(sessions=Sessions(trusted_directories=(place / "other",)))
    assert record_of(elsewhere, caller, trusted).child.trust


@pytest.mark.contract("E1")
def test_a_configured_agent_is_as_its_configuration_says(place: Path) -> None:
    said = {
        "provider": "plain",
        "model": "large",
        "instructions": " You review. ",
        "tools": ["x"],
        "working_directory": str(place / "other"),
        "deadline": "5m",
    }
    config = Config.model_validate({"agents": {"reviewer": said}})
    caller = Caller(options(place, tools=frozenset("ab"), allow_tools=frozenset("a")), session_id="s-1", call_id="c")
    record = record_of(Wish("look at it", agent="reviewer"), caller, config)
    assert (record.instructions, record.task) == ("You review.\n\nlook at it", "look at it")
    assert record.child.tools == frozenset({"x", "look_up"})
    assert record.child.allow_tools == {"a", "x", "look_up"}
    assert (record.child.model, record.child.working_directory) == ("large", place / "other")
    assert (record.deadline_at, record.limit) == (NOW + 300, timedelta(minutes=5))
    assert record.delivery is DeliveryState.PENDING
    with pytest.raises(UnknownAgent, match="keeps the configuration that it was started with: `mcp-agent server stop`"):
        record_of(Wish("look", agent="another"), caller, config)


def test_a_tool_that_the_server_has_not_is_refused_wherever_it_is_named(place: Path) -> None:
    agents = {"one": {"provider": "plain", "tools": ["nope", "x"]}, "other": {"provider": "plain", "tools": ["x"]}}
    config, caller = Config.model_validate({"agents": agents}), Caller(options(place))
    admission = Admission(config, lambda _: Plain(), clock=lambda: NOW, tools=frozenset("xy"))
    with pytest.raises(BadConfiguration, match=r"\[agents.one\] tools: no tool nope; this server has: x, y; .*stop"):
        admission.record_of(Wish("do", agent="one"), caller)
    with pytest.raises(UsageError, match="no tool nope; this server has: x, y"):
        admission.record_of(Wish("do", provider="plain", tools=frozenset({"nope"})), caller)
    assert admission.record_of(Wish("do", agent="other"), caller)[0].child.tools == frozenset("x")


@pytest.mark.contract("E4")
def test_a_deadline_is_absolute_and_in_the_future(place: Path) -> None:
    caller = Caller(options(place))
    assert record_of(Wish("x", deadline=timedelta(seconds=5)), caller).deadline_at == NOW + 5
    assert record_of(Wish("x", deadline_at=NOW + 7), caller).deadline_at == NOW + 7
    assert record_of(Wish("x"), caller).deadline_at is None
    for wish in (Wish("x", deadline_at=NOW), Wish("x", deadline=timedelta(seconds=-1))):
        with pytest.raises(BadDeadline):
            record_of(wish, caller)
    for epoch in (float("nan"), float("inf"), -float("inf"), 1e15, 1e308):
        with pytest.raises(BadDeadline):
            record_of(Wish("x", deadline_at=epoch), caller)
    with pytest.raises(BadDeadline, match="more than 3650 days away"):
        record_of(Wish("x", deadline=timedelta(days=4000)), caller)


@pytest.mark.contract("E5")
def test_a_task_stays_the_same_whatever_becomes_of_its_agent_s_configuration(place: Path) -> None:
    caller, wish = Caller(options(place)), Wish("x", agent="a", model="m")
    said = {"provider": "plain", "permission_mode": None, "working_directory": str(place / "other")}
    earlier = record_of(wish, caller, Config.model_validate({"agents": {"a": said}}))
    changed = Config.model_validate({"agents": {"a": {"provider": "plain"}}})
    for config in (changed, Config()):
        admission = Admission(config, lambda _: Plain(), clock=lambda: NOW)
        assert admission.is_same(wish, caller, earlier)
        others = (replace(wish, model="n"), replace(wish, instructions="y"), replace(wish, working_directory=place))
        assert not any(admission.is_same(other, caller, earlier) for other in others)


@pytest.mark.contract("E5")
def test_the_same_task_is_known_by_what_was_asked_for_and_not_by_who_asked_when(place: Path) -> None:
    caller, wish = Caller(options(place)), Wish("x", deadline=timedelta(seconds=5))
    same = record_of(wish, replace(caller, call_id="call_2"))
    assert record_of(wish, caller).digest == same.digest
    others = (
        replace(wish, instructions="y"),
        replace(wish, model="m"),
        replace(wish, deadline=timedelta(seconds=6)),
        replace(wish, working_directory=place / "other"),
    )
    assert len({same.digest, *(record_of(other, caller).digest for other in others)}) == 5


def test_a_chain_of_executions_has_an_end(place: Path) -> None:
    with pytest.raises(TooDeep):
        record_of(Wish("x"), Caller(options(place), depth=4))
    assert record_of(Wish("x"), Caller(options(place), depth=3)).depth == 3


def test_no_key_stands_in_a_record(place: Path) -> None:
    endpoint = ModelEndpoint("http://127.0.0.1:1", "hunter2")
    admission = Admission(Config(), lambda _: Plain(), clock=lambda: NOW)
    caller = Caller(
        replace(options(place), endpoint=endpoint, environment={"PATH": os.environ["PATH"], "K": "hunter3"})
    )
    record, secrets = admission.record_of(Wish("x"), caller)
    assert "hunter" not in repr((record, secrets, caller))
    assert (secrets.api_key, secrets.environment["K"]) == ("hunter2", "hunter3")


@pytest.mark.contract("S6")
def test_a_session_with_an_execution_under_way_is_not_idle(place: Path) -> None:
    children = LiveChildren()
    caller = Caller(options(place), session_id="s-1")
    first, second = (record_of(Wish("x"), caller) for _ in range(2))
    assert children.reason("s-1") is None
    children.add(first)
    assert children.reason("s-1") == "an execution of it runs"
    children.add(second)
    assert children.reason("s-1") == "2 executions of it run"
    assert children.reason("s-2") is None
    for record in (first, second, second):
        children.remove(record)
    assert children.reason("s-1") is None


def test_an_agent_with_a_worktree_works_on_a_branch_of_its_own(place: Path) -> None:
    source = place / "source"
    for words in (["init", "-q", str(source)], ["-C", str(source), "commit", "-q", "--allow-empty", "-m", "first"]):
        identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        subprocess.run(["git", *identity, *words], check=True, env={**os.environ, "HOME": str(place)})
    tree = place / "worktrees" / "x-1"
    for _ in range(2):
        make_worktree(source, tree, "x-1")
    branch = subprocess.check_output(["git", "-C", str(tree), "branch", "--show-current"], text=True)
    assert branch.strip() == "mcp-agent/x-1"


def test_a_worktree_that_cannot_be_made_tells_what_git_said_and_what_to_do(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WorktreeNotMade) as caught:
        make_worktree(place / "other", place / "worktrees" / "x-2", "x-2")
    told = str(caught.value)
    assert "\n" not in told
    assert "git said 'fatal: not a git repository" in told
    assert "name another directory, or leave `worktree` out" in told
    monkeypatch.setenv("PATH", str(place))
    with pytest.raises(WorktreeNotMade, match="git cannot be run"):
        make_worktree(place / "other", place / "worktrees" / "x-3", "x-3")
