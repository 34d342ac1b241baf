"""What somebody asks for when an execution is started, checked and made a record before anything is begun."""

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from mcp_agent import config as configured
from mcp_agent.adapter import Adapter
from mcp_agent.calls.digest import digest
from mcp_agent.errors import (
    AFTER_A_CHANGE,
    BadConfiguration,
    BadDeadline,
    SendRefused,
    TooDeep,
    UnknownAgent,
    UsageError,
)
from mcp_agent.executions.records import Child, DeliveryState, ExecutionRecord, new_execution_id
from mcp_agent.executions.store import ChildSecrets
from mcp_agent.sessions.environment import for_session
from mcp_agent.sessions.input.sending import check_text
from mcp_agent.sessions.record import SessionOptions
from mcp_agent.sessions.starting.asking import check_asked
from mcp_agent.sessions.starting.launching import check_working_directory, find_executable

LONGEST_DEADLINE = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Wish:
    """One execution as somebody asks for it. Without a configured `agent` it is an ad-hoc one of this `provider`."""

    instructions: str
    agent: str | None = None
    provider: str | None = None
    model: str | None = None
    working_directory: Path | None = None
    permission_mode: str | None = None
    tools: frozenset[str] | None = None
    deadline: timedelta | None = None
    """From now on; None: as its agent is configured, or none."""
    deadline_at: float | None = None
    """The same as a wall-clock epoch."""
    idempotency_key: str | None = None
    notify: bool = True
    """Whether its parent's session is told of its result."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who starts an execution, and what its child inherits."""

    options: SessionOptions = field(repr=False)
    """What the caller's own session was started with; of a person, what the child's is to be started with."""
    session_id: str | None = None
    """None: a person, or a program with the owner's token."""
    call_id: str | None = None
    parent_execution: str | None = None
    depth: int = 1
    """Of the execution that it starts."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What every wish is checked against."""

    config: configured.Config
    load_adapter: Callable[[str], Adapter]
    look_ups: frozenset[str] = frozenset()
    """Tools that every agent has, however few others are configured for it."""
    clock: Callable[[], float] = time.time
    tools: frozenset[str] | None = None
    """All that this server has; None: any name is taken."""

    def record_of(self, wish: Wish, caller: Caller) -> tuple[ExecutionRecord, ChildSecrets]:
        """The record and what its child is launched with. Raises `UsageError` and its kind, with nothing kept."""
        most = self.config.executions.depth
        if caller.depth > most:
            raise TooDeep(caller.depth, most)
        agent = self._agent(wish.agent)
        self._check_tools(wish, agent)
        child = self._child(wish, agent, caller)
        instructions = _prompt(agent, wish.instructions)
        self._check(child, instructions, caller.options)
        now = self.clock()
        record = ExecutionRecord(
            id=new_execution_id(),
            instructions=instructions,
            standing=len(instructions) - len(wish.instructions),
            child=child,
            digest=_digest(wish, child),
            created_at=now,
            agent=wish.agent,
            parent_session=caller.session_id,
            parent_execution=caller.parent_execution,
            call_id=caller.call_id,
            depth=caller.depth,
            idempotency_key=wish.idempotency_key,
            deadline_at=_deadline(wish, agent, now),
            delivery=DeliveryState.PENDING if wish.notify and caller.session_id else DeliveryState.NONE,
        )
        endpoint = caller.options.endpoint
        return record, ChildSecrets(caller.options.environment, endpoint.api_key if endpoint else None)

    def is_same(self, wish: Wish, caller: Caller, earlier: ExecutionRecord) -> bool:
        """Whether the wish is the one that this execution was started for, whatever was configured since."""
        kept = earlier.child
        if wish.agent is not None and wish.agent == earlier.agent:
            place, model = wish.working_directory or kept.working_directory, wish.model or kept.model
            if _digest(wish, replace(kept, working_directory=place, model=model)) == earlier.digest:
                return True
        agent = self.config.agents.get(wish.agent) if wish.agent else None
        return _digest(wish, self._child(wish, agent, caller)) == earlier.digest

    def _agent(self, name: str | None) -> configured.Agent | None:
        if name is None:
            return None
        if name not in self.config.agents:
            raise UnknownAgent(name, sorted(self.config.agents))
        return self.config.agents[name]

    def _check_tools(self, wish: Wish, agent: configured.Agent | None) -> None:
        if problem := self._unknown(wish.tools):
            raise UsageError(problem)
        if agent and (problem := self._unknown(agent.tools)):
            raise BadConfiguration(f"[agents.{wish.agent}] tools", f"{problem}; {AFTER_A_CHANGE}")

    def _unknown(self, names: Collection[str] | None) -> str | None:
        """What is wrong with these names of tools; None when nothing is."""
        if self.tools is None or not (unknown := sorted(set(names or ()) - self.tools)):
            return None
        return f"no tool {', '.join(unknown)}; this server has: {', '.join(sorted(self.tools)) or 'none'}"

    def _child(self, wish: Wish, agent: configured.Agent | None, caller: Caller) -> Child:
        inherited = caller.options
        place = wish.working_directory or (agent.working_directory if agent else None) or inherited.working_directory
        child = Child(
            provider=wish.provider or inherited.provider,
            working_directory=place,
            home=inherited.home,
            model=wish.model,
            permission_mode=wish.permission_mode,
            tools=_within(wish.tools, inherited.tools),
            allow_tools=inherited.allow_tools,
            named_variables=inherited.named_variables,
            provider_shell=inherited.provider_shell,
            trust=self._trusts(place, caller),
            endpoint_url=inherited.endpoint.base_url if inherited.endpoint else None,
            idle_retention=self.config.executions.keep_sessions,
        )
        if agent is None:
            return child
        own = None if agent.tools is None else frozenset(agent.tools) | self.look_ups
        return replace(
            child,
            provider=agent.provider,
            model=wish.model or agent.model,
            permission_mode=agent.permission_mode,
            tools=child.tools if own is None else own,
            allow_tools=child.allow_tools | (own or frozenset()),
            worktree=agent.worktree,
        )

    def _trusts(self, place: Path, caller: Caller) -> bool:
        """A directory is trusted when a person says so or configured it; an agent passes on its own one's trust."""
        by_person = caller.call_id is None or place == caller.options.working_directory
        return place in self.config.sessions.trusted_directories or (caller.options.trust and by_person)

    def _check(self, child: Child, instructions: str, inherited: SessionOptions) -> None:
        adapter = self.load_adapter(child.provider)
        check_working_directory(child.working_directory)
        options = replace(inherited, provider=child.provider, name=None, permission_mode=child.permission_mode)
        check_asked(options, adapter)
        environment = for_session(inherited.environment, named=inherited.named_variables, home=inherited.home)
        find_executable(adapter, environment)
        try:
            check_text("", instructions)
        except SendRefused as error:
            raise UsageError(f"instructions: {error.reason}; nothing was started") from None


def _prompt(agent: configured.Agent | None, instructions: str) -> str:
    own = agent.instructions.strip() if agent else ""
    return f"{own}\n\n{instructions}" if own else instructions


def _within(wished: frozenset[str] | None, inherited: frozenset[str] | None) -> frozenset[str] | None:
    """No child has a tool that its caller has not."""
    if wished is None or inherited is None:
        return wished if inherited is None else inherited
    return wished & inherited


def _deadline(wish: Wish, agent: configured.Agent | None, now: float) -> float | None:
    if wish.deadline_at is not None:
        if not math.isfinite(wish.deadline_at):
            raise BadDeadline(f"is no time: {wish.deadline_at}")
        if wish.deadline_at <= now:
            raise BadDeadline("is in the past")
        return _bounded(wish.deadline_at, now)
    limit = wish.deadline or (agent.deadline if agent else None)
    if limit is None:
        return None
    if limit <= timedelta(0):
        raise BadDeadline("must be later than now")
    return _bounded(now + limit.total_seconds(), now)


def _bounded(deadline: float, now: float) -> float:
    if deadline - now > LONGEST_DEADLINE.total_seconds():
        raise BadDeadline(f"is more than {LONGEST_DEADLINE.days} days away")
    return deadline


def _digest(wish: Wish, child: Child) -> str:
    """Of all that makes two wishes the same."""
    return digest(
        "execution",
        {
            "agent": wish.agent,
            "provider": child.provider,
            "instructions": wish.instructions,
            "model": child.model,
            "working_directory": str(child.working_directory),
            "permission_mode": child.permission_mode,
            "tools": None if wish.tools is None else sorted(wish.tools),
            "deadline_seconds": wish.deadline.total_seconds() if wish.deadline else None,
            "deadline_at": wish.deadline_at,
        },
    )
