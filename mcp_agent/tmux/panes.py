"""Panes of a private tmux server."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from secrets import token_hex
from typing import Self

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectReceiveStream

from mcp_agent.errors import BadWorkingDirectory, PaneGone, TmuxCommandFailed, TmuxError, TmuxUnavailable
from mcp_agent.tmux import commands, holding, ticks
from mcp_agent.tmux.connection import ControlConnection
from mcp_agent.tmux.deaths import wait_for_exit
from mcp_agent.tmux.flow import Flow
from mcp_agent.tmux.groups import single_error
from mcp_agent.tmux.link import Link
from mcp_agent.tmux.process import PATIENCE, Tmux
from mcp_agent.tmux.protocol import Event, Notification, Output, fits_on_a_line
from mcp_agent.tmux.server import ensure_server, kill_server, recover_socket
from mcp_agent.tmux.terminal import (
    DEFAULT_SIZE,
    Capture,
    ClockClosing,
    Died,
    IdleClock,
    Lost,
    PaneEvent,
    PaneInfo,
    PaneRef,
    check_launch,
    check_text,
)
from mcp_agent.tmux.watching import Watchers


class TmuxTerminal:
    """`Terminal` on a private tmux server: one session per pane, each window linked into a hub that we listen to."""

    def __init__(self, tmux: Tmux, tasks: anyio.abc.TaskGroup) -> None:
        self._tmux, self._tasks = tmux, tasks
        self._watchers = Watchers()
        self._held: set[PaneRef] = set()
        self._link = Link(
            tmux,
            on_event=self._take,
            on_attach=self._watchers.wrote_all,
            on_server_gone=self._watchers.lose_all,
        )
        self._flow = Flow(self._link, tasks, on_release=self._watchers.wrote)

    @classmethod
    @asynccontextmanager
    async def open(cls, socket: Path, *, patience: timedelta = PATIENCE) -> AsyncGenerator[Self]:
        """Start the server of this socket, or adopt the one that lives. Leaving only detaches: panes live on.

        The socket's directory must exist; `patience` bounds each answer. Raises `TmuxMissing` or `TmuxUnavailable`.
        """
        tmux = Tmux.at(socket, patience=patience)
        await ensure_server(tmux)
        with single_error():
            async with anyio.create_task_group() as tasks:
                terminal = cls(tmux, tasks)
                tasks.start_soon(terminal._link.run)
                try:
                    await terminal._link.connection()
                    yield terminal
                finally:
                    tasks.cancel_scope.cancel()

    async def shutdown(self) -> None:
        """Kill the server of our socket, with every pane, and remove the socket. Watchers are told `Lost`."""
        await kill_server(self._tmux)
        await self._link.wait_until_absent()

    async def spawn(
        self,
        *,
        name: str,
        argv: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        tags: Mapping[str, str],
        size: tuple[int, int] = DEFAULT_SIZE,
    ) -> PaneRef:
        """As `Terminal.spawn`. Raises `BadWorkingDirectory`, and `ValueError` for what tmux cannot hold."""
        check_launch(argv, tags)
        if not cwd.is_dir():
            raise BadWorkingDirectory(cwd, "is not a directory")
        unique = commands.session_name(name)
        sequence = commands.spawn(unique, argv=argv, cwd=cwd, environment=environment, tags=tags, size=size)
        connection = await self._link.revive()
        try:
            printed = await connection.sequence(sequence)
        except TmuxCommandFailed:
            with anyio.CancelScope(shield=True), suppress(TmuxCommandFailed, TmuxUnavailable):
                await connection.command("kill-window", "-t", f"={unique}:")
            raise
        return commands.read_ref(printed[0][0])

    async def capture(self, pane: PaneRef) -> Capture:
        connection = await self._reach(pane)
        printed = await _at(connection, pane, commands.capture(pane))
        return commands.read_capture(pane, printed, escaped=connection.escapes_buffers)

    async def paste(self, pane: PaneRef, text: str) -> None:
        check_text(text)
        buffer = f"mcp-{token_hex(8)}"
        try:
            await self._load(buffer, text)
            by_hook = (await self._reach(pane)).runs_hooks
            sequence = commands.paste(pane, buffer, held=pane in self._held, by_hook=by_hook)
            commands.check_paste(await self._guarded(pane, sequence, alive=True))
        except BaseException:
            await self._forget_buffer(buffer)
            raise

    async def _load(self, buffer: str, text: str) -> None:
        """Hand the text to tmux. Until that is done no pane has seen it, whatever went wrong."""
        try:
            connection = await self._link.connection()
            if connection and fits_on_a_line(text):
                await connection.command("set-buffer", "-b", buffer, "--", text)
                return
            await recover_socket(self._tmux)
            await self._tmux.run("-N", "load-buffer", "-b", buffer, "-", stdin=text.encode())
        except TmuxUnavailable as error:
            raise TmuxCommandFailed("load-buffer", str(error)) from error

    async def press(self, pane: PaneRef, *keys: str) -> None:
        await self._guarded(pane, commands.press(pane, keys, held=pane in self._held), alive=True)

    async def type_text(self, pane: PaneRef, text: str) -> None:
        check_text(text)
        await self._guarded(pane, commands.type_text(pane, text, held=pane in self._held), alive=True)

    @asynccontextmanager
    async def alone(self, pane: PaneRef) -> AsyncGenerator[bool]:
        self._held.add(pane)
        try:
            by_hook = (await self._reach(pane)).runs_hooks
            printed = await self._guarded(pane, holding.hold(pane, by_hook=by_hook), alive=True)
            yield holding.is_attended(printed)
        finally:
            self._held.discard(pane)
            with anyio.CancelScope(shield=True), suppress(TmuxError):
                await self._guarded(pane, holding.release(pane), alive=False)

    async def panes(self) -> list[PaneInfo]:
        return await self._list()

    async def exit_of(self, pane: PaneRef) -> PaneInfo | None:
        return next((found for found in await self._list(pane) if found.pane == pane), None)

    async def close(self, pane: PaneRef) -> None:
        with suppress(PaneGone):
            await self._guarded(pane, commands.close(pane), alive=False)
        self._watchers.end(pane, Lost())

    async def set_clock(self, pane: PaneRef, clock: IdleClock | None) -> None:
        if clock:
            ticks.check_clock(clock)
        await self._guarded(pane, ticks.start(pane, clock) if clock else ticks.stop(pane), alive=False)

    async def take_closing(self, name: str) -> ClockClosing | None:
        connection = await self._link.connection()
        if connection is None:
            return None
        closing = ticks.read_closing(await connection.command(*ticks.closings()), name)
        if closing:
            await connection.command(*ticks.forget_closing(name))
        return closing

    @asynccontextmanager
    async def watch(self, pane: PaneRef) -> AsyncGenerator[MemoryObjectReceiveStream[PaneEvent]]:
        async with self._watchers.watch(pane) as events:
            following = anyio.CancelScope()
            self._tasks.start_soon(self._follow, pane, following)
            try:
                yield events
            finally:
                following.cancel()

    async def _guarded(self, pane: PaneRef, sequence: Sequence[commands.Command], *, alive: bool) -> list[list[str]]:
        """Run commands only if the pane is there, is the same one and, with `alive`, not dead.

        No server gives an id twice, so the pane that was found stays the right one; one that died meanwhile takes
        nothing. A condition inside tmux would do it in one go, but tmux 3.3a never frees what it ran by one.
        """
        connection = await self._reach(pane)
        [found] = await _at(connection, pane, [commands.identify(pane)])
        commands.check(pane, found, alive=alive)
        if not alive:
            return await _at(connection, pane, sequence)
        *printed, found = await _at(connection, pane, [*sequence, commands.identify(pane)])
        commands.check(pane, found, alive=True)
        return printed

    async def _reach(self, pane: PaneRef) -> ControlConnection:
        """The connection to the pane's server. Raises `PaneGone` when there is no server any more."""
        if connection := await self._link.connection():
            return connection
        raise PaneGone(pane.pane_id)

    async def _list(self, pane: PaneRef | None = None) -> list[PaneInfo]:
        connection = await self._link.connection()
        if connection is None:
            return []
        found = commands.read_panes(await connection.command(*commands.list_panes(pane)))
        for attempt in range(6):
            if not any(map(_lacks_status, found)):
                break
            self._link.remind_of_children()
            await anyio.sleep(0.002 * 2**attempt)
            found = commands.read_panes(await connection.command(*commands.list_panes(pane)))
        return found

    async def _forget_buffer(self, buffer: str) -> None:
        """Leave no text behind in a server that still answers."""
        with anyio.move_on_after(1, shield=True), suppress(TmuxCommandFailed, TmuxUnavailable):
            if connection := await self._link.connection():
                await connection.command("delete-buffer", "-b", buffer)

    async def _follow(self, pane: PaneRef, scope: anyio.CancelScope) -> None:
        """Tell the watchers of a pane how it ended, as soon as tmux knows."""
        with scope:
            if await self._tell_end(pane):
                return
            if not await wait_for_exit(pane.pid):
                await self._link.listen_for_deaths()
                await anyio.sleep_forever()
            while not await self._settle(pane):
                pass

    async def _settle(self, pane: PaneRef) -> bool:
        """Whether the end of a pane could be told; tmux knows it, and the status after that, a moment later."""
        for attempt in range(9):
            if await self._tell_end(pane):
                return True
            await anyio.sleep(0.005 * 2**attempt)
        return await self._tell_end(pane, known_status=False)

    async def _tell_end(self, pane: PaneRef, *, known_status: bool = True) -> bool:
        try:
            found = await self.exit_of(pane)
        except TmuxError:
            return False
        if found is None:
            self._watchers.end(pane, Lost())
            return True
        if not found.dead or (known_status and _lacks_status(found)):
            return False
        self._watchers.end(pane, Died(found.exit_status, found.exit_signal))
        return True

    def _take(self, event: Event) -> None:
        match event:
            case Output(pane_id, size):
                self._watchers.wrote(pane_id)
                self._flow.wrote(pane_id, size)
            case Notification("pause", (pane_id,)):
                self._flow.paused(pane_id)
            case Notification("window-close" | "unlinked-window-close", (window_id, *_)):
                self._look_after(self._watchers.watched(window_id))
            case Notification("subscription-changed", (commands.DEATHS, *_, pane_id, ":", "1")):
                self._look_after({pane for pane in self._watchers.watched() if pane.pane_id == pane_id})

    def _look_after(self, panes: set[PaneRef]) -> None:
        for pane in panes:
            self._tasks.start_soon(self._settle, pane)


async def _at(connection: ControlConnection, pane: PaneRef, sequence: Sequence[commands.Command]) -> list[list[str]]:
    """What each command at this pane printed. Raises `PaneGone` when it is not there."""
    try:
        return await connection.sequence(sequence)
    except TmuxCommandFailed as failed:
        if failed.problem.startswith(commands.CANNOT_FIND):
            raise PaneGone(pane.pane_id) from failed
        raise


def _lacks_status(pane: PaneInfo) -> bool:
    return pane.dead and pane.exit_status is None and pane.exit_signal is None
