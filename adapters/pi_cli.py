"""Pi, the coding agent of earendil-works.

Unless a line says otherwise, facts were observed on version 1.6.0 under tmux 3.3a. Screens are told apart in
`pi_cli_screen` and `pi_cli_dialogs`, events in `pi_cli_events`; `pi_cli_extension` is what is loaded into the CLI.

Pi asks before no tool and has no permission modes (docs/security.md): `allow_tools` changes nothing.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

from adapters import pi_cli_events as events
from adapters import pi_cli_extension as extension
from adapters import pi_cli_screen as screens
from adapters.pi_cli_prompt import guard
from adapters.pi_cli_variables import CREDENTIALS, VARIABLES
from mcp_agent.adapter import (
    Adapter,
    Capability,
    Composer,
    Launch,
    LaunchFile,
    LaunchRequest,
    LiveInput,
    NpmPackage,
    Screen,
    Signal,
)
from mcp_agent.timeouts import ClientCeiling, McpTimeoutSetting, ProviderLimits

EXTENSION_FILE = "mcp-agent.js"
SHELL_TOOLS = ("bash", "powershell")
"""The built-in tools that run commands."""

_VERSION = re.compile(r"^(\d+\.\d+\.\d+\S*)$", re.MULTILINE)


class PiCli:
    """The adapter of Pi."""

    id = "pi-cli"
    title = "Pi CLI"
    executable = "pi"
    install_hint = "mcp-agent providers install pi-cli (or: npm install -g @earendil-works/pi-coding-agent)"
    package: NpmPackage | None = NpmPackage(
        "@earendil-works/pi-coding-agent", "1.6.0", "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"
    )
    tested_versions = ("1.6.0",)
    unverified: str | None = None
    limits = ProviderLimits()
    client_ceiling: ClientCeiling | None = ClientCeiling(timedelta(seconds=60), progress_extends="verified")
    """One MCP request; progress resets it (docs/mcp.md)."""
    live_input = LiveInput.SAME_TURN
    """Steering: the model gets it after the tool calls of its current answer."""
    lacks: Mapping[Capability, str] = MappingProxyType(
        {Capability.PERMISSION_PROMPTS: "Pi asks before no tool (docs/security.md, version 1.6.0)"}
    )
    user_files: Mapping[str, str] = MappingProxyType(
        {
            "~/.pi/agent/settings.json": '{"lastChangelogVersion": "1.6.0",\r\n "mine": [1, 2],   "theme": "dark"}',
            "~/.pi/agent/mcp.json": '{"mcpServers": {"mine": {"command": "/bin/true", "enabled": false}}, "x": 1}\n',
            "./.pi/settings.json": '{"theme": "light"}\r\n',
        }
    )
    """Only a project with resources of Pi's makes it ask for trust."""
    permission_modes: Sequence[str] = ()
    credential_names: Sequence[str] = CREDENTIALS
    environment_names: Sequence[str] = (*CREDENTIALS, *VARIABLES)
    submit_keys = ("Enter",)
    interrupt_keys = ("Escape",)
    """Ctrl-C clears the composer only, and a second one within half a second ends the CLI."""
    clear_keys = ("C-u", "C-k") * 8
    """To the line's beginning and end, then over them: each press takes a line or a line end."""
    next_option_keys = ("Down",)
    confirm_keys = ("Enter",)

    def parse_version(self, output: str) -> str | None:
        found = _VERSION.search(output)
        return found[1] if found else None

    def mcp_timeout(self, limit: timedelta) -> McpTimeoutSetting | None:
        """None: the CLI's own 60 s are met by progress notifications."""
        return None

    def launch(self, request: LaunchRequest) -> Launch:
        """An interactive start with an extension of ours, beside whatever the user has set up."""
        file = request.session_directory / EXTENSION_FILE
        source = extension.source(
            bridge=request.bridge_command,
            events=request.event_command,
            endpoint=request.endpoint,
            model=request.model,
        )
        return Launch(
            argv=(str(request.executable), "--extension", str(file), *_flags(request)),
            environment=_environment(request),
            files=(LaunchFile(file, source),),
            native_session_id=request.native_session_id,
        )

    def read(self, screen: Screen) -> Sequence[Signal]:
        return screens.read(screen)

    def composer(self, screen: Screen) -> Composer | None:
        return screens.composer(screen)

    def read_event(self, event: Mapping[str, object]) -> Sequence[Signal]:
        return events.read_event(event)

    def read_transcript(self, lines: Sequence[str]) -> Sequence[Signal]:
        """Nothing: the extension tells all that it holds."""
        return []

    def transcript_glob(self, native_session_id: str) -> str:
        """One JSONL file per conversation, named by its begin and its id; the directory encodes the working one."""
        return f".pi/agent/sessions/*/*_{native_session_id}.jsonl"

    def is_command(self, text: str) -> bool:
        return text.startswith("/")

    def guard(self, text: str) -> str:
        return guard(text)


def _flags(request: LaunchRequest) -> list[str]:
    """`--session-id` begins a conversation of that id, `--session` goes on with one."""
    flags = ["--session" if request.resume else "--session-id", request.native_session_id]
    if request.endpoint:
        flags += ["--model", f"{extension.PROVIDER}/{request.model or extension.DEFAULT_MODEL}"]
    elif request.model:
        flags += ["--model", request.model]
    if request.trust:
        flags.append("--approve")
    if not request.provider_shell:
        flags += ["--exclude-tools", ",".join(SHELL_TOOLS)]
    return flags


def _environment(request: LaunchRequest) -> dict[str, str]:
    """Behind a gateway nothing else is asked: not the vendor's catalogue, and no site for helper programs."""
    environment = {"PI_SKIP_VERSION_CHECK": "1"}
    if request.endpoint:
        environment |= {extension.KEY_VARIABLE: request.endpoint.api_key, "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}
    if request.home_is_ours:
        environment["TMPDIR"] = str(request.home / "tmp")
    return environment


ADAPTER: Adapter = PiCli()
