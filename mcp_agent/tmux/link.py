"""The connection that heals itself, and knows a lost connection from a lost server."""

from collections.abc import Callable
from contextlib import suppress
from signal import SIGCHLD

import anyio

from mcp_agent.errors import TmuxCommandFailed, TmuxUnavailable
from mcp_agent.tmux import commands, holding, hooks, sizes
from mcp_agent.tmux.connection import HUB, ControlConnection
from mcp_agent.tmux.process import Tmux
from mcp_agent.tmux.protocol import Event
from mcp_agent.tmux.server import ServerProcess, ensure_hub, ensure_server, record_path


class Link:
    """Keeps one control connection to the server of a socket. `run` is its task."""

    def __init__(
        self,
        tmux: Tmux,
        *,
        on_event: Callable[[Event], None],
        on_attach: Callable[[], None],
        on_server_gone: Callable[[], None],
    ) -> None:
        self._tmux, self._on_event = tmux, on_event
        self._on_attach, self._on_server_gone = on_attach, on_server_gone
        self._connection: ControlConnection | None = None
        self._server: ServerProcess | None = None
        self._absent = False
        self._deaths_wanted = False
        self._changed = anyio.Event()
        self._wanted = anyio.Event()
        self._problem = "not connected yet"

    async def connection(self) -> ControlConnection | None:
        """The live connection; None when the server is certainly gone. Raises `TmuxUnavailable` if neither shows."""
        with anyio.move_on_after(self._tmux.patience.total_seconds()):
            while not self._absent:
                if self._connection and not self._connection.closed.is_set():
                    return self._connection
                await self._changed.wait()
            return None
        raise TmuxUnavailable(f"no connection to tmux: {self._problem}")

    async def revive(self) -> ControlConnection:
        """The live connection, to a new server if the old one is gone. Raises `TmuxUnavailable`."""
        if connection := await self.connection():
            return connection
        await ensure_server(self._tmux)
        self._absent = False
        self._wanted.set()
        if connection := await self.connection():
            return connection
        raise TmuxUnavailable("tmux ended as soon as it was started")

    async def wait_until_absent(self) -> None:
        """Return when the end of the server was noticed, or when that takes too long."""
        with anyio.move_on_after(self._tmux.patience.total_seconds()):
            while not self._absent:
                await self._changed.wait()

    def remind_of_children(self) -> None:
        """Have the server look for children that ended: tmux 3.3a can miss one's SIGCHLD, and then has no status."""
        if self._server:
            self._server.signal(SIGCHLD)

    async def listen_for_deaths(self) -> None:
        """Have tmux tell of ended programs: it looks at every pane once a second, so only where nothing else tells."""
        self._deaths_wanted = True
        with suppress(TmuxUnavailable):
            if connection := await self.connection():
                await connection.command(*commands.TELL_DEATHS)

    async def run(self) -> None:
        """Stay connected until cancelled."""
        delay_seconds = 0.01
        while True:
            try:
                await self._stay_connected()
                delay_seconds = 0.01
            except TmuxUnavailable as problem:
                self._problem = str(problem)
            if self._server and not self._server.alive:
                await self._wait_for_another()
            else:
                await anyio.sleep(delay_seconds)
                delay_seconds = min(delay_seconds * 2, 1.0)

    async def _stay_connected(self) -> None:
        await ensure_hub(self._tmux)
        async with ControlConnection.open(self._tmux, on_event=self._on_event) as connection:
            await self._identify(connection)
            await self._prepare(connection)
            self._connection = connection
            self._tell_change()
            self._on_attach()
            await connection.closed.wait()
            self._problem = connection.problem

    async def _identify(self, connection: ControlConnection) -> None:
        [pid] = await connection.command("display-message", "-p", "#{pid}")
        server = ServerProcess.of(int(pid))
        if self._server and server != self._server:
            self._on_server_gone()
        self._server = server
        if server:
            server.record(record_path(self._tmux.socket))

    async def _prepare(self, connection: ControlConnection) -> None:
        """Hear every tagged window, and deaths if they are wanted, and keep the windows' sizes."""
        if self._deaths_wanted:
            await connection.command(*commands.TELL_DEATHS)
        connection.escapes_buffers = commands.are_escaped(await connection.sequence(commands.ask_for_escapes()))
        with suppress(TmuxCommandFailed):
            connection.runs_hooks = hooks.do_run(await connection.sequence(hooks.ask_whether_they_run(f"={HUB}:")))
        await connection.sequence([*sizes.follow_clients(), *holding.release_when_somebody_leaves()])
        facts = f"#{{session_name}} #{{window_id}} #{{{sizes.COLUMNS}}}"
        listing = await connection.command("list-windows", "-a", "-F", facts)
        linked = {window for session, window, *_ in map(str.split, listing) if session == HUB}
        for session, window, *ours in map(str.split, listing):
            if session != HUB and ours and window not in linked:
                await connection.command(*commands.link(window))

    async def _wait_for_another(self) -> None:
        self._server, self._connection, self._absent = None, None, True
        self._wanted = anyio.Event()
        self._tell_change()
        self._on_server_gone()
        await self._wanted.wait()

    def _tell_change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
