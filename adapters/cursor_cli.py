"""Cursor CLI, Anysphere's coding agent.

Nothing here was seen with the real program: it is not in any package registry, and works with a login only. It was
built from the vendor's pages and from what users of the program wrote down, read in November 2026; each docstring names
its source, and `unverified` says so to people. An emulator that is built from the same words drives it in `e2e`.

What it is told stands in `cursor_cli_config`; screens are told apart in `cursor_cli_screen` and `cursor_cli_dialogs`,
hooks in `cursor_cli_events`; prompts are kept from becoming commands in `cursor_cli_prompt`.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

from adapters import cursor_cli_config as config
from adapters import cursor_cli_events as events
from adapters import cursor_cli_prompt as prompt
from adapters import cursor_cli_screen as screens
from mcp_agent.adapter import (
    BRIDGE_FILE_VARIABLE,
    Adapter,
    Capability,
    Composer,
    Launch,
    LaunchRequest,
    LiveInput,
    NpmPackage,
    Screen,
    Signal,
)
from mcp_agent.timeouts import ClientCeiling, McpTimeoutSetting, ProviderLimits

EMULATOR_SETTINGS = "CURSOR_EMULATOR"
"""Only the emulator reads it: a JSON object."""

_MODES: Mapping[str, Sequence[str]] = {
    "plan": ("--mode", "plan"),
    "ask": ("--mode", "ask"),
    "force": ("--force",),
}
"""The flags behind each mode (https://cursor.com/docs/cli/reference/parameters, read in November 2026)."""

_VERSION = re.compile(r"^v?(\d{4}\.\d{2}\.\d{2}-\S+)$", re.MULTILINE)


class CursorCli:
    """The adapter of Cursor CLI."""

    id = "cursor-cli"
    title = "Cursor CLI"
    executable = "cursor-agent"
    """The older of its two names, which both are installed: `agent` may be anybody's program."""
    install_hint = "curl https://cursor.com/install -fsS | bash"
    package: NpmPackage | None = None
    """It is on no registry: the npm package `cursor-agent` is somebody else's."""
    tested_versions = ("2026.11.30-emulator",)
    unverified: str | None = (
        "all of it: built from the vendor's pages and users' reports, driven against an emulator and never against"
        " the real program"
    )
    limits = ProviderLimits()
    client_ceiling: ClientCeiling | None = ClientCeiling(timedelta(seconds=60), progress_extends="unknown")
    """Reported by users; no page of the vendor names a bound, or a setting for it."""
    live_input = LiveInput.NEXT_TURN
    """A prompt that is submitted during a turn waits among the follow-ups and starts the next one (users' reports)."""
    lacks: Mapping[Capability, str] = MappingProxyType({Capability.USAGE: "its hooks tell of no tokens (docs/hooks)"})
    user_files: Mapping[str, str] = MappingProxyType(
        {
            "~/.cursor/cli-config.json": '{"version": 1, "permissions": {"allow": [],  "deny": []}, "future": 1}\n',
            "~/.cursor/mcp.json": '{"mcpServers": {}}',
            "./.cursor/mcp.json": '{\r\n  // mine\r\n  "mcpServers": {},\r\n  "future": [1,  2],\r\n}\r\n',
        }
    )
    permission_modes = tuple(_MODES)
    credential_names = ("CURSOR_API_KEY",)
    """https://cursor.com/docs/cli/reference/authentication."""
    environment_names = (*credential_names, "CURSOR_CONFIG_DIR", EMULATOR_SETTINGS)
    submit_keys = ("Enter",)
    interrupt_keys = ("C-c",)
    """Once stops the turn; a second one within the same breath ends the CLI. Escape does the same, and would turn the
    key that follows it into another one. Source: users' reports on 2026.07.23 and 2026.09.28.
    """
    clear_keys = ("C-u", "C-k", "BSpace")
    """`C-u` on 2026.07.23 and 2026.09.28; one report says that only backspaces work."""
    next_option_keys = ("Down",)
    confirm_keys = ("Enter",)

    def parse_version(self, output: str) -> str | None:
        found = _VERSION.search(output)
        return found[1] if found else None

    def mcp_timeout(self, limit: timedelta) -> McpTimeoutSetting | None:
        """None: no page of the vendor names such a setting (https://cursor.com/docs/mcp)."""
        return None

    def launch(self, request: LaunchRequest) -> Launch:
        """An interactive start. An unknown id given to `--resume` becomes a new conversation of that id.

        Source: measured by users on 2026.09.10 and 2026.09.28.
        """
        return Launch(
            argv=(str(request.executable), *_flags(request)),
            environment=_environment(request),
            files=config.seeds(request),
            shared=config.edits(request),
            before=(config.approval(request),),
            native_session_id=request.native_session_id,
        )

    def read(self, screen: Screen) -> Sequence[Signal]:
        return screens.read(screen)

    def composer(self, screen: Screen) -> Composer | None:
        return screens.composer(screen)

    def read_event(self, event: Mapping[str, object]) -> Sequence[Signal]:
        return events.read_event(event)

    def read_transcript(self, lines: Sequence[str]) -> Sequence[Signal]:
        """Nothing: it is redacted, and written late (users' reports)."""
        return []

    def transcript_glob(self, native_session_id: str) -> str:
        """One JSONL file per conversation (users' reports on 2026.09.28)."""
        return f".cursor/projects/*/agent-transcripts/{native_session_id}/{native_session_id}.jsonl"

    def is_command(self, text: str) -> bool:
        return text.startswith("/")

    def guard(self, text: str) -> str:
        return prompt.guard(text)


def _flags(request: LaunchRequest) -> list[str]:
    flags = ["--workspace", str(request.working_directory), "--resume", request.native_session_id]
    flags += _MODES.get(request.permission_mode or "", ())
    if request.model:
        flags += ["--model", request.model]
    return flags


def _environment(request: LaunchRequest) -> dict[str, str]:
    """The CLI documents no other model server than its vendor's: only the emulator reads what names one."""
    environment = {BRIDGE_FILE_VARIABLE: request.bridge_command[-1]}
    if request.endpoint:
        environment |= {
            "CURSOR_EMULATOR_ENDPOINT": request.endpoint.base_url,
            "CURSOR_EMULATOR_KEY": request.endpoint.api_key,
        }
    if request.home_is_ours:
        environment["TMPDIR"] = str(request.home / "tmp")
    return environment


ADAPTER: Adapter = CursorCli()
