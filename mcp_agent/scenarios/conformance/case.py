"""What the questions about a running CLI share: one server, one model, and the sessions that were started so far."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import anyio

from mcp_agent.adapter import Adapter
from mcp_agent.errors import McpAgentError
from mcp_agent.scenarios.conformance.user_files import Look
from mcp_agent.scenarios.driver import Driver
from mcp_agent.scenarios.model.server import ScriptedModel
from mcp_agent.scenarios.probes import Chat, NotFollowed, ProbeFailed
from mcp_agent.scenarios.workspace import Workspace

SILENCE = timedelta(seconds=2)
"""How long the silent tool call takes."""
LIVE_SILENCE = timedelta(seconds=4)
"""The same where something is sent meanwhile."""


async def side_by_side(work: Callable[[Chat], Awaitable[None]], chats: Sequence[Chat]) -> None:
    """The same with several sessions at once; what goes wrong first is raised as it is."""
    wrong: list[Exception] = []

    async def guarded(chat: Chat) -> None:
        try:
            await work(chat)
        except (McpAgentError, NotFollowed, ProbeFailed) as error:
            wrong.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for chat in chats:
            group.start_soon(guarded, chat)
    if wrong:
        raise wrong[0]


class NotReached(Exception):
    """What this question needs did not come about earlier; the message says what."""


@dataclass(slots=True)
class Case:
    """One run of the suite against one provider."""

    adapter: Adapter
    driver: Driver
    space: Workspace
    model: ScriptedModel
    start_body: Mapping[str, object]
    say: Callable[[str], None]
    planted: Mapping[Path, Look] = field(default_factory=dict)
    """The user's files as they were before anything was started."""
    is_troubled: bool = False
    """The last question failed, and may have left something behind."""
    seen: Chat | None = None
    """The session that was looked at last."""
    _chats: dict[str, Chat] = field(default_factory=dict)

    @property
    def strange_directory(self) -> Path:
        """A working directory that nobody agreed to trust."""
        return self.space.root / "strange"

    @property
    def familiar_directory(self) -> Path:
        """A working directory that a person trusts, of a CLI that has never heard of it."""
        return self.space.root / "familiar"

    @property
    def working_directories(self) -> tuple[Path, ...]:
        return (self.space.working_directory, self.strange_directory, self.familiar_directory)

    def new_chat(self, name: str, **different: object) -> Chat:
        """A session to start; None takes an option away."""
        options = {key: value for key, value in {**self.start_body, **different}.items() if value is not None}
        self.seen = self._chats[name] = Chat(
            self.driver,
            self.space,
            options,
            SILENCE,
            self.say,
            live_input=self.adapter.live_input,
            live_sleep=LIVE_SILENCE,
        )
        return self.seen

    def started(self, name: str) -> Chat:
        """The session of this name. Raises `NotReached` when it was never started."""
        chat = self._chats.get(name)
        if chat is None or not chat.session:
            raise NotReached(f"the {name} session was not started")
        self.seen = chat
        return chat

    async def usable(self, name: str) -> Chat:
        """The session of this name with nothing running in it, whatever an earlier question left behind."""
        chat = self.started(name)
        chat.discards_drafts = self.is_troubled
        if (await self.driver.show(chat.id))["current_turn"] is not None:
            await self.driver.interrupt(chat.id)
        return chat

    def others(self, name: str) -> list[Chat]:
        """Every started session but this one."""
        return [chat for other, chat in self._chats.items() if other != name and chat.session]
