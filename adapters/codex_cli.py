"""Codex CLI, OpenAI's coding agent.

Unless a line says otherwise, facts were observed on version 0.171.0 under tmux 3.3a. What it is told stands in
`codex_cli_config`; screens are told apart in `codex_cli_screen` and `codex_cli_dialogs`, its hook and its rollout in
`codex_cli_rollout`; prompts are kept from becoming commands in `codex_cli_prompt`.

The user's `CODEX_HOME` is used, so that login and conversations are where they were. Overrides on the command line
configure the session, and `--profile` takes what the CLI writes by itself: without one it rewrites the user's
`config.toml` at its first start (`tui.screen_reader_detection_done`, `tui.model_availability_nux`), with one it writes
to `mcp-agent.config.toml` beside it, which need not exist and holds nothing of ours.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

from adapters import codex_cli_config as config
from adapters import codex_cli_prompt as prompt
from adapters import codex_cli_rollout as rollout
from adapters import codex_cli_screen as screens
from mcp_agent.adapter import (
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

PROFILE = "mcp-agent"

_ASKING = ("--ask-for-approval", "on-request", "--sandbox", "workspace-write")
_MODES: Mapping[str, Sequence[str]] = {
    "on-request": _ASKING,
    "read-only": ("--ask-for-approval", "on-request", "--sandbox", "read-only"),
    "never": ("--ask-for-approval", "never", "--sandbox", "workspace-write"),
    "approve-for-me": ("--approve-for-me",),
    "dangerously-bypass-approvals-and-sandbox": ("--dangerously-bypass-approvals-and-sandbox",),
}
"""The flags behind each mode, which is called as its flag or its flag's value."""

_VERSION = re.compile(r"^codex-cli (\d+\.\d+\.\d+\S*)", re.MULTILINE)


class CodexCli:
    """The adapter of Codex CLI."""

    id = "codex-cli"
    title = "Codex CLI"
    executable = "codex"
    install_hint = "mcp-agent providers install codex-cli (or: npm install -g @openai/codex)"
    package: NpmPackage | None = NpmPackage(
        "@openai/codex", "0.171.0", "node_modules/@openai/codex-*/vendor/*/bin/codex"
    )
    tested_versions = ("0.171.0",)
    unverified: str | None = None
    limits = ProviderLimits(prompt_ready_inactivity=timedelta(minutes=10), prompt_ready_absolute=timedelta(minutes=90))
    client_ceiling: ClientCeiling | None = None
    live_input = LiveInput.SAME_TURN
    lacks: Mapping[Capability, str] = MappingProxyType({})
    user_files: Mapping[str, str] = MappingProxyType(
        {
            "~/.codex/config.toml": '# mine\r\nmodel_reasoning_effort = "low"   # keep\n\n[future]\nkey = 1\n',
            "./.git/HEAD": "ref: refs/heads/main\n",
            "./.git/config": "[core]\n\tbare = false\n",
        }
    )
    """Only a repository makes the CLI ask for trust."""
    permission_modes = tuple(_MODES)
    credential_names: Sequence[str] = ()
    """With `OPENAI_API_KEY`, `CODEX_API_KEY` or `CODEX_ACCESS_TOKEN` alone an interactive start asks for a login."""
    environment_names = ("CODEX_HOME",)
    submit_keys = ("Enter",)
    interrupt_keys = ("Escape",)
    """A single Ctrl-C with nothing running ends the CLI."""
    clear_keys = ("C-e", "C-k", "DC", "C-u", "BSpace")
    """Wherever the cursor stands, one line goes, and the one below it or above it is joined; the last key leaves the
    shell mode.
    """
    next_option_keys = ("Down",)
    confirm_keys = ("Enter",)

    def parse_version(self, output: str) -> str | None:
        found = _VERSION.search(output)
        return found[1] if found else None

    def mcp_timeout(self, limit: timedelta) -> McpTimeoutSetting:
        """The limit of one whole MCP call, in seconds; progress does not extend it.

        Source: https://developers.openai.com/codex/config-reference, version 0.171.0.
        """
        setting = f"mcp_servers.api-bridge.{config.TOOL_TIMEOUT}"
        return McpTimeoutSetting(setting, "s", limit // timedelta(seconds=1))

    def launch(self, request: LaunchRequest) -> Launch:
        """An interactive start. The CLI chooses its conversation's id, and tells it at the first prompt.

        Without `--no-daemon` it leaves a background server behind that outlives its pane.
        """
        return Launch(
            argv=(str(request.executable), *_conversation(request), *_flags(request), *config.overrides(request)),
            environment=_environment(request),
            native_session_id=request.native_session_id if request.resume else None,
        )

    def read(self, screen: Screen) -> Sequence[Signal]:
        return screens.read(screen)

    def composer(self, screen: Screen) -> Composer | None:
        return screens.composer(screen)

    def read_event(self, event: Mapping[str, object]) -> Sequence[Signal]:
        return rollout.read_event(event)

    def read_transcript(self, lines: Sequence[str]) -> Sequence[Signal]:
        return rollout.read_transcript(lines)

    def transcript_glob(self, native_session_id: str) -> str:
        """One rollout per conversation, in a directory for the day on which it began."""
        return f".codex/sessions/*/*/*/rollout-*-{native_session_id}.jsonl"

    def is_command(self, text: str) -> bool:
        return text.startswith("/")

    def guard(self, text: str) -> str:
        return prompt.guard(text)


def _conversation(request: LaunchRequest) -> Sequence[str]:
    return ("resume", request.native_session_id) if request.resume else ()


def _flags(request: LaunchRequest) -> Sequence[str]:
    """The user's own configuration may say that nothing is asked, so a mode is always named."""
    mode = _MODES.get(request.permission_mode or "", _ASKING)
    model = ("--model", request.model) if request.model else ()
    return ("--no-daemon", "--profile", PROFILE, *mode, *model)


def _environment(request: LaunchRequest) -> dict[str, str]:
    environment = {}
    if request.endpoint:
        environment[config.KEY_VARIABLE] = request.endpoint.api_key
    if request.home_is_ours:
        environment["TMPDIR"] = str(request.home / "tmp")
    return environment


ADAPTER: Adapter = CodexCli()
