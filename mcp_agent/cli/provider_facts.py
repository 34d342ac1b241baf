"""What can be said about one provider on this machine: its program, its version, its limits, its login's variables."""

import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO

import anyio

from mcp_agent.adapter import Adapter
from mcp_agent.durations import format_duration
from mcp_agent.errors import CannotRunHere, CliNotInstalled, CliUnusable
from mcp_agent.sessions.environment import shared
from mcp_agent.sessions.starting.launching import find_executable
from mcp_agent.timeouts import McpTimeoutSetting

ANSWERS_WITHIN = timedelta(seconds=20)
LONGEST_ANSWER = 65_536


@dataclass(frozen=True, slots=True)
class ProviderFacts:
    """One provider, asked once. Of the credentials it holds the names only."""

    adapter: Adapter
    mcp_timeout: McpTimeoutSetting | None
    credentials: Mapping[str, bool]
    """Each credential variable, and whether it is set."""
    executable: Path | None = None
    version: str | None = None
    """None when nothing is installed, or when it did not say."""
    problem: CannotRunHere | None = None
    """Why no session of it could start."""

    @property
    def warnings(self) -> list[str]:
        """What does not keep a session from starting."""
        return [] if self.problem else untested(self.adapter, self.version)

    def as_json(self) -> dict[str, object]:
        """Every fact under one name, the same for all providers."""
        adapter, setting, ceiling = self.adapter, self.mcp_timeout, self.adapter.client_ceiling
        return {
            "id": adapter.id,
            "title": adapter.title,
            "executable": str(self.executable) if self.executable else None,
            "installed": self.executable is not None,
            "usable": self.problem is None,
            "problem": str(self.problem) if self.problem else None,
            "install_hint": adapter.install_hint,
            "version": self.version,
            "tested_versions": list(adapter.tested_versions),
            "unverified": adapter.unverified,
            "warnings": self.warnings,
            "credentials": dict(self.credentials),
            "mcp_timeout": setting and {"setting": setting.setting, "unit": setting.unit, "value": setting.value},
            "client_ceiling": ceiling
            and {"limit_seconds": ceiling.limit.total_seconds(), "progress_extends": ceiling.progress_extends},
            "live_input": adapter.live_input.value,
            "permission_modes": list(adapter.permission_modes),
            "lacks": dict(adapter.lacks),
        }


def untested(adapter: Adapter, version: str | None) -> list[str]:
    """What to say of a version that the adapter was never tried with; None: one that could not be read."""
    tested = adapter.tested_versions
    if not tested or version in tested:
        return []
    found = f"version {version}" if version else "a version that could not be read"
    return [f"{adapter.title}: {found} is installed; tested with {', '.join(tested)}"]


async def facts_of(
    adapter: Adapter, environ: Mapping[str, str], *, mcp_call: timedelta, answers_within: timedelta = ANSWERS_WITHIN
) -> ProviderFacts:
    """Ask one provider's program for its version, in an environment without any credential."""
    environment = shared(environ, home=None)
    executable = version = problem = None
    try:
        executable = find_executable(adapter, environment)
        command = _VersionCommand(adapter.title, executable, environment)
        version = adapter.parse_version(await command.run(answers_within))
    except CannotRunHere as error:
        problem = error
    return ProviderFacts(
        adapter=adapter,
        mcp_timeout=adapter.mcp_timeout(mcp_call),
        credentials={name: bool(environ.get(name)) for name in adapter.credential_names},
        executable=None if isinstance(problem, CliNotInstalled) else executable,
        version=version,
        problem=problem,
    )


@dataclass(frozen=True, slots=True)
class _VersionCommand:
    title: str
    executable: Path
    environment: Mapping[str, str]

    async def run(self, limit: timedelta) -> str:
        """What `--version` prints. Raises `CliUnusable` when that fails.

        It prints into a file: what it leaves behind could hold a pipe open for ever.
        """
        with tempfile.TemporaryFile() as output:
            try:
                with anyio.fail_after(limit.total_seconds()):
                    status = await self._status(output)
            except TimeoutError:
                raise self._unusable(f"gave no answer within {format_duration(limit)}") from None
            except OSError as error:
                raise self._unusable(f"does not start: {error.strerror or error}") from error
            if status != 0:
                raise self._unusable(f"failed with status {status}")
            output.seek(0)
            return output.read(LONGEST_ANSWER).decode("utf-8", "replace")

    async def _status(self, output: IO[bytes]) -> int:
        """In a directory that holds no configuration of anybody's."""
        async with await anyio.open_process(
            [str(self.executable), "--version"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            env=self.environment,
            cwd="/",
        ) as process:
            return await process.wait()

    def _unusable(self, problem: str) -> CliUnusable:
        return CliUnusable(self.title, self.executable, problem)
