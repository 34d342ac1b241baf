"""Claude Code, Anthropic's CLI.

Unless a line says otherwise, facts were observed on version 2.1.332 under tmux 3.3a. Screens are told apart in
`claude_code_screen` and `claude_code_dialogs`, events and transcripts in `claude_code_events`; prompts are kept from
becoming commands in `claude_code_prompt`.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

from adapters import claude_code_events as events
from adapters import claude_code_prompt as prompt
from adapters import claude_code_screen as screens
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

HOOK_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "SessionEnd")
LONGEST_CALL = timedelta(milliseconds=100_000_000)
"""The CLI's default for one MCP call, silent or not: only its silence is bounded for a session of ours."""
SHELL_TOOLS = ("Bash", "Monitor")
"""The built-in tools that run commands."""

_VERSION = re.compile(r"^(\d+\.\d+\.\d+\S*) \(Claude Code\)", re.MULTILINE)


class ClaudeCode:
    """The adapter of Claude Code."""

    id = "claude-code"
    title = "Claude Code"
    executable = "claude"
    install_hint = "mcp-agent providers install claude-code (or: npm install -g @anthropic-ai/claude-code)"
    package: NpmPackage | None = NpmPackage(
        "@anthropic-ai/claude-code", "2.1.332", "node_modules/@anthropic-ai/claude-code-*/claude"
    )
    tested_versions = ("2.1.332",)
    unverified: str | None = None
    limits = ProviderLimits()
    client_ceiling: ClientCeiling | None = None
    live_input = LiveInput.SAME_TURN
    lacks: Mapping[Capability, str] = MappingProxyType(
        {
            Capability.TABS: "the CLI makes four blanks of each tab that is pasted (observed on 2.1.332)",
            Capability.INVISIBLE_CHARACTERS: "the CLI takes them out of a prompt, and says so (observed on 2.1.332)",
        }
    )
    user_files: Mapping[str, str] = MappingProxyType(
        {
            "~/.claude/settings.json": '{"future": [1,  2],\r\n "includeCoAuthoredBy": false}',
            "./.claude/settings.local.json": '{ "future": {"kept": true} }\n',
        }
    )
    permission_modes = ("manual", "acceptEdits", "auto", "bypassPermissions", "dontAsk", "plan")
    credential_names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
    environment_names = (
        *credential_names,
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_MODEL",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_MAX_RETRIES",
    )
    submit_keys = ("Enter",)
    interrupt_keys = ("Escape",)
    clear_keys = ("C-e", "C-u")
    next_option_keys = ("Down",)
    confirm_keys = ("Enter",)

    def parse_version(self, output: str) -> str | None:
        found = _VERSION.search(output)
        return found[1] if found else None

    def mcp_timeout(self, limit: timedelta) -> McpTimeoutSetting:
        """The idle limit of one MCP call, in milliseconds; the CLI checks it every 30 s.

        Source: https://code.claude.com/docs/en/mcp, version 2.1.332.
        """
        return McpTimeoutSetting("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", "ms", limit // timedelta(milliseconds=1))

    def launch(self, request: LaunchRequest) -> Launch:
        """An interactive start with our own session id, our MCP server only, and our hooks."""
        mcp, settings = request.session_directory / "mcp.json", request.session_directory / "settings.json"
        limits = _limits(self.mcp_timeout(request.mcp_call))
        seeds = [_seeded_state(request)] if request.home_is_ours else []
        return Launch(
            argv=(str(request.executable), *_flags(request, mcp=mcp, settings=settings)),
            environment={**limits, **_environment(request)},
            files=(
                LaunchFile(mcp, _dump(_mcp_configuration(request.bridge_command))),
                LaunchFile(settings, _dump({"env": limits, **_hook_settings(request.event_command)})),
                *seeds,
            ),
            native_session_id=request.native_session_id,
        )

    def read(self, screen: Screen) -> Sequence[Signal]:
        return screens.read(screen)

    def composer(self, screen: Screen) -> Composer | None:
        return screens.composer(screen)

    def read_event(self, event: Mapping[str, object]) -> Sequence[Signal]:
        return events.read_event(event)

    def read_transcript(self, lines: Sequence[str]) -> Sequence[Signal]:
        return events.read_transcript(lines)

    def transcript_glob(self, native_session_id: str) -> str:
        """One JSONL file per conversation; the directory's name encodes the working directory."""
        return f".claude/projects/*/{native_session_id}.jsonl"

    def is_command(self, text: str) -> bool:
        return text.startswith("/")

    def guard(self, text: str) -> str:
        return prompt.guard(text)


def _flags(request: LaunchRequest, *, mcp: Path, settings: Path) -> list[str]:
    """The default permission mode asks a classifier on the vendor's server, so a mode is always named."""
    conversation = "--resume" if request.resume else "--session-id"
    flags = ["--mcp-config", str(mcp), "--strict-mcp-config", "--settings", str(settings)]
    flags += ["--permission-mode", request.permission_mode or "manual"]
    flags += [conversation, request.native_session_id]
    if request.model:
        flags += ["--model", request.model]
    if request.allow_tools:
        flags += ["--allowedTools", ",".join(f"mcp__api-bridge__{tool}" for tool in sorted(request.allow_tools))]
    if not request.provider_shell:
        flags += ["--disallowedTools", ",".join(SHELL_TOOLS)]
    return flags


def _limits(timeout: McpTimeoutSetting) -> dict[str, str]:
    """What a session of ours rests on, whatever the user's own settings say of it.

    `env` of a user's settings outranks the CLI's environment, and that of `--settings` outranks both: all of these
    stand in the two places that are ours. `AUTO_BACKGROUND` off: an interactive session otherwise moves an MCP call to
    the background after 120 s and ends the turn (https://code.claude.com/docs/en/env-vars, version 2.1.332). A longer
    result than `MAX_MCP_OUTPUT_TOKENS` is put into a file that the model may not be allowed to read.
    """
    return {
        timeout.setting: str(timeout.value),
        "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "0",
        "MCP_TOOL_TIMEOUT": str(LONGEST_CALL // timedelta(milliseconds=1)),
        "MAX_MCP_OUTPUT_TOKENS": "25000",
        "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
        "ENABLE_TOOL_SEARCH": "false",
    }


def _environment(request: LaunchRequest) -> dict[str, str]:
    environment: dict[str, str] = {}
    if request.endpoint:
        environment |= {
            "ANTHROPIC_BASE_URL": request.endpoint.base_url,
            "ANTHROPIC_API_KEY": request.endpoint.api_key,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
    if request.home_is_ours:
        environment["TMPDIR"] = str(request.home / "tmp")
    return environment


def _mcp_configuration(command: Sequence[str]) -> dict[str, object]:
    program, *arguments = command
    return {"mcpServers": {"api-bridge": {"type": "stdio", "command": program, "args": arguments, "env": {}}}}


def _hook_settings(command: Sequence[str]) -> dict[str, object]:
    hook = {"hooks": [{"type": "command", "command": shlex.join(command), "timeout": 10}]}
    return {"hooks": {name: [hook] for name in HOOK_EVENTS}}


def _seeded_state(request: LaunchRequest) -> LaunchFile:
    """Onboarding looks for the vendor's host and exits without it, so a home of ours says it is done.

    A key is approved by its last 20 characters.
    """
    state: dict[str, object] = {"hasCompletedOnboarding": True, "hasSeenAutoDefaultNotice": True}
    key = request.endpoint.api_key if request.endpoint else request.own_environment.get("ANTHROPIC_API_KEY")
    if key:
        state["customApiKeyResponses"] = {"approved": [key[-20:]], "rejected": []}
    if request.trust:
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state["projects"] = {str(request.working_directory): trusted}
    return LaunchFile(request.home / ".claude.json", _dump(state))


def _dump(value: object) -> str:
    return json.dumps(value, indent=1)


ADAPTER: Adapter = ClaudeCode()
