"""The scripted agent: a provider of our own for tests and first steps, without a download or an account.

Its program is `adapters.scripted_agent`; what its screen says is told apart in `scripted_screen`. Prompts and
completions are told by its events. An event that could not be delivered stands in its transcript: each is told once.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

from adapters import scripted_screen as screens
from adapters.records import record_of
from adapters.scripted_agent import quirks
from adapters.scripted_agent.text import guarded
from mcp_agent.adapter import (
    Adapter,
    Capability,
    Composer,
    FailureCause,
    Launch,
    LaunchFile,
    LaunchRequest,
    LimitedBy,
    LiveInput,
    NpmPackage,
    PromptAccepted,
    Screen,
    SessionIdentified,
    Signal,
    Source,
    TurnEnded,
    TurnOutcome,
    Usage,
)
from mcp_agent.timeouts import ClientCeiling, McpTimeoutSetting, ProviderLimits

ALLOW_EVERYTHING = "allow-all"
"""The permission mode in which the agent asks before no tool."""

_TIMEOUT_KEY = "mcp_tool_timeout_seconds"
_VERSION = re.compile(r"\b\d+(?:\.\d+)+\b")
_MODEL_ERROR = re.compile(r"model error (\d{3})")


class Scripted:
    """The adapter of the scripted agent."""

    id = "scripted"
    title = "Scripted agent"
    executable = "python3"
    install_hint = "nothing to install: it comes with this package"
    package: NpmPackage | None = None
    tested_versions: Sequence[str] = ()
    unverified: str | None = None
    limits = ProviderLimits()
    client_ceiling: ClientCeiling | None = None
    live_input = LiveInput.SAME_TURN
    lacks: Mapping[Capability, str] = MappingProxyType({})
    user_files: Mapping[str, str] = MappingProxyType({})
    """It reads no configuration but the one of its launch."""
    permission_modes = (ALLOW_EVERYTHING,)
    environment_names: Sequence[str] = (quirks.VARIABLE,)
    credential_names: Sequence[str] = ()
    submit_keys = ("Enter",)
    interrupt_keys = ("Escape",)
    clear_keys = ("C-u",)
    next_option_keys = ("Down",)
    confirm_keys = ("Enter",)

    def parse_version(self, output: str) -> str | None:
        found = _VERSION.search(output)
        return found[0] if found else None

    def mcp_timeout(self, limit: timedelta) -> McpTimeoutSetting:
        return McpTimeoutSetting(_TIMEOUT_KEY, "s", limit // timedelta(seconds=1))

    def launch(self, request: LaunchRequest) -> Launch:
        """Runs on the Python that runs us: the program must be importable, and its `python3` need not have it."""
        config = request.session_directory / "scripted-agent.json"
        return Launch(
            argv=(sys.executable, "-I", "-m", "adapters.scripted_agent", "--config", str(config)),
            environment={},
            files=(LaunchFile(config, json.dumps(self._configuration(request), indent=1)),),
            native_session_id=request.native_session_id,
        )

    def read(self, screen: Screen) -> Sequence[Signal]:
        return screens.read(screen)

    def composer(self, screen: Screen) -> Composer | None:
        return screens.composer(screen)

    def read_event(self, event: Mapping[str, object]) -> Sequence[Signal]:
        match event:
            case {"event": "session_start", "session_id": str(session_id)}:
                transcript = event.get("transcript")
                return (SessionIdentified(session_id, Path(transcript) if isinstance(transcript, str) else None),)
            case {"event": "prompt_accepted", "text": str(text)}:
                return (PromptAccepted(text, queued=event.get("queued") is True),)
            case {"event": "turn_end", "outcome": str(outcome)} if outcome in set(TurnOutcome):
                return _turn_end(TurnOutcome(outcome), event)
            case _:
                return ()

    def read_transcript(self, lines: Sequence[str]) -> Sequence[Signal]:
        """Only events that were not told otherwise: every other line repeats one."""
        return [
            replace(signal, source=Source.TRANSCRIPT)
            for entry in map(record_of, lines)
            if entry.get("type") == "untold_event" and isinstance(event := entry.get("event"), dict)
            for signal in self.read_event(event)
        ]

    def transcript_glob(self, native_session_id: str) -> str:
        return f".scripted-agent/{native_session_id}.jsonl"

    def is_command(self, text: str) -> bool:
        return text.startswith("/")

    def guard(self, text: str) -> str:
        """One blank before what would begin a command or a mode; the agent takes it out again."""
        return guarded(text)

    def _configuration(self, request: LaunchRequest) -> dict[str, object]:
        timeout = self.mcp_timeout(request.mcp_call)
        endpoint = request.endpoint
        return {
            "native_session_id": request.native_session_id,
            "home": str(request.home),
            "working_directory": str(request.working_directory),
            "bridge_command": list(request.bridge_command),
            "event_command": list(request.event_command),
            "endpoint": {"base_url": endpoint.base_url, "api_key": endpoint.api_key} if endpoint else None,
            "model": request.model,
            "resume": request.resume,
            "trusted": request.trust and request.home_is_ours,
            "allow_all_tools": request.permission_mode == ALLOW_EVERYTHING,
            "allow_tools": sorted(request.allow_tools),
            timeout.setting: timeout.value,
        }


def _turn_end(outcome: TurnOutcome, event: Mapping[str, object]) -> Sequence[Signal]:
    error = event.get("error")
    reason = error if isinstance(error, str) else None
    status = _status(reason)
    ended = TurnEnded(
        outcome, str(event.get("final_text", "")), reason, _cause(status), usage=_usage(event.get("usage"))
    )
    return (ended, LimitedBy("rate", source=Source.HOOK)) if status == 429 else (ended,)


def _usage(told: object) -> Usage | None:
    match told:
        case {"input_tokens": int(read), "output_tokens": int(written)}:
            return Usage(read, written)
        case _:
            return None


def _status(reason: str | None) -> int | None:
    """The HTTP status that the model's server refused with; None when it did not refuse."""
    found = _MODEL_ERROR.match(reason or "")
    return int(found[1]) if found else None


def _cause(status: int | None) -> FailureCause:
    if status in {401, 403}:
        return FailureCause.LOGIN
    return FailureCause.LIMITED if status == 429 or (status or 0) >= 500 else FailureCause.OTHER


ADAPTER: Adapter = Scripted()
