"""Engines of every kind, a PostgreSQL server of the tests' own, and real servers whose executions can be asked for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from mcp_agent.executions.dbos_engine import DbosSettings, dbos_engine
from mcp_agent.executions.engine import OpenEngine
from mcp_agent.executions.memory_engine import MemoryDatabase, memory_engine
from tests.server.conftest import BOUND_SECONDS, Server, eventually, running_server

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]

FINISHED = {"succeeded", "failed", "cancelled", "deadline_exceeded", "lost"}
NO_POSTGRES = "PostgreSQL is not installed (apt-get install postgresql)"
RUNUSER = shutil.which("runuser", path="/usr/sbin:/sbin:/usr/bin:/bin") or "runuser"
"""Not every PATH has the administrator's directories."""
SLEEPS = "run exactly this command: `sleep 600`"


class Engines(Protocol):
    """Opens engines on one database, as often as a test asks for."""

    def __call__(self, concurrency: int = 3) -> OpenEngine: ...


@dataclass(frozen=True)
class Postgres:
    """A running PostgreSQL server: one socket in a directory of its own, nothing on the network."""

    directory: Path
    programs: Path
    as_user: tuple[str, ...]

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.directory}"

    def run(self, program: str, *arguments: str) -> None:
        argv = [*self.as_user, str(self.programs / program), *arguments]
        done = subprocess.run(argv, cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()

    def make_database(self) -> str:
        name = f"d{len(list(self.directory.glob('made-*')))}"
        (self.directory / f"made-{name}").touch()
        self.run("createdb", "-h", str(self.directory), "-U", "postgres", name)
        return self.url(name)

    def start(self) -> None:
        options = f"-k {self.directory} -c listen_addresses= -c fsync=off"
        self._control("-l", str(self.directory / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._control("-m", "immediate", "stop")

    def _control(self, *arguments: str) -> None:
        self.run("pg_ctl", "-w", "-D", str(self.directory / "data"), *arguments)


def postgres_programs() -> Path | None:
    """Where the newest installed PostgreSQL server has its programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server for the whole run, as the user that its packages make: root may not run one."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip(NO_POSTGRES)
    directory = Path(tempfile.mkdtemp(prefix="ma-pg-", dir="/tmp"))
    as_user = (RUNUSER, "-u", "postgres", "--") if os.getuid() == 0 else ()
    if as_user:
        shutil.chown(directory, "postgres")
    server = Postgres(directory, programs, as_user)
    server.run("initdb", "-D", str(directory / "data"), "-U", "postgres", "--auth=trust", "--no-sync")
    server.start()
    yield server
    server.stop()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def engines(request: pytest.FixtureRequest, short_tmp: Path) -> Engines:
    """Engines of every kind, each on an empty database."""
    if request.param == "memory":
        database = MemoryDatabase()
        return lambda concurrency=3: memory_engine(database, concurrency=concurrency)
    if request.param == "sqlite":
        url = f"sqlite:///{short_tmp}/engine.sqlite"
    else:
        made: Postgres = request.getfixturevalue("postgres")
        url = made.make_database().replace("postgresql://", "postgresql+psycopg://")
    return lambda concurrency=3: dbos_engine(DbosSettings(url, "the test's", "executor-1", concurrency))


@dataclass
class Household:
    """A real server with configured agents, and what its scripted agents were given."""

    server: Server
    root: Path
    quirks: dict[str, object] = field(default_factory=dict)

    @property
    def record(self) -> Path:
        return self.root / "record"

    def crash(self) -> None:
        self.server.crash()

    def start_again(self) -> None:
        self.server.start_again()

    def agent_environment(self) -> dict[str, str]:
        quirks = json.dumps({"record": str(self.record), **self.quirks})
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.server.work), "SCRIPTED_AGENT_QUIRKS": quirks}

    def start(self, instructions: str, **more: object) -> Json:
        body: Json = {
            "working_directory": str(self.server.work),
            "environment": self.agent_environment(),
            "trust": True,
            "allow_tools": ["execute_shell_command"],
            "instructions": instructions,
            **more,
        }
        return self.server.client.post("/executions", body if "agent" in more else {"provider": "scripted", **body})

    def parent(self, **more: object) -> str:
        """A session whose children work as it does."""
        return self.server.start_session(
            environment=self.agent_environment(),
            allow_tools=["execute_shell_command", "call_sub_agent", "call_generic_agent"],
            **more,
        )

    def get(self, execution_id: object) -> Json:
        return self.server.client.get(f"/executions/{execution_id}")

    def end_of(self, execution_id: object) -> Json:
        """The execution once it has ended."""
        found = self.server.client.get(f"/executions/{execution_id}", wait_seconds=str(BOUND_SECONDS))
        assert found["state"] in FINISHED, found
        return found

    def until(self, execution_id: object, state: str) -> Json:
        eventually(lambda: self.get(execution_id)["state"] == state)
        return self.get(execution_id)

    def executions(self, **query: str) -> list[Json]:
        found: list[Json] = self.server.client.get("/executions", **query)["executions"]  # type: ignore[assignment]
        return found

    def until_ready(self, session: object) -> Json:
        """The session, once it shows its prompt."""
        eventually(lambda: self.server.client.get(f"/sessions/{session}")["state"] == "ready")
        return self.server.client.get(f"/sessions/{session}")

    def submitted(self) -> list[str]:
        """Every prompt that any scripted agent was given."""
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return [note["text"] for note in map(json.loads, lines) if note["kind"] == "submit"]

    def until_submitted(self, *prompts: str) -> None:
        eventually(lambda: set(prompts) <= set(self.submitted()))

    def turns(self, session: str) -> list[Json]:
        found: list[Json] = self.server.client.get(f"/sessions/{session}/turns")["turns"]  # type: ignore[assignment]
        return found

    def message_states(self, session: str) -> list[str]:
        messages: list[Json] = self.server.client.get(f"/sessions/{session}/messages")["messages"]  # type: ignore[assignment]
        return [message["state"] for message in messages]

    def results_told(self, session: str) -> list[str]:
        """The results that this session was given as prompts."""
        return [turn["prompt"] for turn in self.turns(session) if turn["prompt"].startswith("[execution ")]

    def sleeper_with_deadline(self, seconds: int) -> tuple[str, str, int]:
        """An execution whose command runs when its deadline comes, the command's call, and the limit.

        A machine that is too slow for a limit is given twice as much.
        """
        execution = str(self.start(SLEEPS, deadline_seconds=seconds)["execution_id"])

        def runs() -> bool:
            found = self.get(execution)
            return found["state"] in FINISHED or bool(
                found["session_id"] and self.server.calls(str(found["session_id"]))
            )

        eventually(runs)
        if self.get(execution)["state"] in FINISHED:
            return self.sleeper_with_deadline(2 * seconds)
        return execution, str(self.server.calls(self.get(execution)["session_id"])[0]["call_id"]), seconds

    def running_call_of(self, execution_id: object) -> str:
        """The id of the tool call that the execution's session makes, once its command runs."""
        eventually(lambda: self.get(execution_id)["session_id"])
        return self.server.running_call(self.get(execution_id)["session_id"])


CONFIGURATION = """
[agents.helper]
provider = "scripted"
instructions = "You help."

[agents.worker]
provider = "scripted"
tools = ["execute_shell_command"]
"""


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """The database that a server is configured with; None: its own file."""
    if request.param == "sqlite":
        return None
    made: Postgres = request.getfixturevalue("postgres")
    return made.make_database()


@contextmanager
def configured_server(root: Path, **words: object) -> Iterator[Server]:
    """A server with these words in its configuration's `[executions]`; None leaves one out."""
    path = root / "config" / "mcp-agent" / "config.toml"
    path.parent.mkdir(parents=True)
    lines = [f"{name} = {json.dumps(word)}" for name, word in words.items() if word is not None]
    path.write_text("\n".join(["[executions]", *lines, CONFIGURATION]))
    with running_server(root) as server:
        yield server


@pytest.fixture
def open_household(short_tmp: Path, database_url: str | None) -> Iterator[Callable[..., Household]]:
    """Makes the server of a test, configured as `configured_server` says."""
    with ExitStack() as opened:

        def open_one(**words: object) -> Household:
            server = configured_server(short_tmp, **{"database_url": database_url, **words})
            return Household(opened.enter_context(server), short_tmp)

        yield open_one


@pytest.fixture(scope="module")
def shared_server(database_url: str | None) -> Iterator[Server]:
    """A server for tests that kill nothing."""
    root = Path(tempfile.mkdtemp(prefix="ma-", dir="/tmp"))
    with configured_server(root, database_url=database_url) as found:
        yield found
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def shared_household(shared_server: Server, short_tmp: Path) -> Iterator[Household]:
    """The shared server, with agents of this test alone; what they leave running is cancelled."""
    household = Household(shared_server, short_tmp)
    yield household
    for one in household.executions(unfinished_only="true"):
        shared_server.client.post(f"/executions/{one['execution_id']}/cancel", waits=True)


@pytest.fixture
def household(open_household: Callable[..., Household]) -> Household:
    return open_household()
