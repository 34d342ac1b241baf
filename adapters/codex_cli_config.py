"""What Codex is told for one launch: overrides on its command line, with the TOML of each value.

Overrides leave no file behind, and nothing in them is secret. Facts were observed on version 0.171.0:

- A hook runs only when its hash is trusted. `hooks.state` may be an override too, so our hook is trusted by exactly
  its own hash and the user's hooks keep the trust that they have: `--dangerously-bypass-hook-trust` runs them all.
- `required` makes the first turn wait for the bridge; without it a prompt that comes early has no tools.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import timedelta

import tomlkit
from tomlkit.items import Item

from mcp_agent.adapter import SESSION_MARK, LaunchRequest

PROVIDER = "mcp-agent"
"""What a model endpoint of ours is called."""
KEY_VARIABLE = "CODEX_ENDPOINT_API_KEY"
"""The variable that holds an endpoint's key; only its name stands in the configuration."""
TOOL_TIMEOUT = "tool_timeout_sec"

SHELL_FEATURES = ("shell_tool", "unified_exec", "shell_snapshot")
"""What gives the model a shell of the CLI's own."""

_STARTUP_LIMIT = timedelta(seconds=60)
_HOOK_LIMIT = timedelta(seconds=10)
_HOOKS = {"SessionStart": "session_start", "UserPromptSubmit": "user_prompt_submit"}
"""Events as the configuration names them, and as their trust does."""
_HOOK_KEY = "/<session-flags>/config.toml:{event}:0:0"
"""Names the first hook that an override brings for an event."""


def overrides(request: LaunchRequest) -> list[str]:
    """Every `-c key=value` of one launch, as argv."""
    settings: dict[str, object] = {
        "check_for_update_on_startup": False,
        "features.hooks": True,
        "mcp_servers.api-bridge": _bridge(request),
        **_hooks(request.event_command),
        **_model(request),
    }
    if not request.provider_shell:
        settings |= {f"features.{feature}": False for feature in SHELL_FEATURES}
    if request.trust:
        settings["projects"] = {str(request.working_directory): {"trust_level": "trusted"}}
    return [word for key, value in settings.items() for word in ("-c", f"{key}={_inline(value).as_string()}")]


def _bridge(request: LaunchRequest) -> Mapping[str, object]:
    """Servers see few of the CLI's variables; the mark is named, so that the whole tree can be found."""
    program, *arguments = request.bridge_command
    return {
        "command": program,
        "args": arguments,
        "env_vars": [SESSION_MARK],
        "required": True,
        "startup_timeout_sec": _STARTUP_LIMIT // timedelta(seconds=1),
        TOOL_TIMEOUT: request.mcp_call // timedelta(seconds=1),
        "tools": {tool: {"approval_mode": "approve"} for tool in sorted(request.allow_tools)},
    }


def _hooks(event_command: Sequence[str]) -> Mapping[str, object]:
    handler = {
        "type": "command",
        "command": shlex.join(event_command),
        "timeout": _HOOK_LIMIT // timedelta(seconds=1),
        "async": False,
    }
    trust = {_HOOK_KEY.format(event=event): {"trusted_hash": _trusted(event, handler)} for event in _HOOKS.values()}
    return {**{f"hooks.{name}": [{"hooks": [handler]}] for name in _HOOKS}, "hooks.state": trust}


def _trusted(event: str, handler: Mapping[str, object]) -> str:
    """The hash under which the CLI trusts one hook: of its sorted, compact JSON.

    Source: `command_hook_hash` in codex-rs/hooks/src/engine/discovery.rs, checked by `hooks/list` of 0.171.0.
    """
    identity = {"event_name": event, "hooks": [handler]}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _model(request: LaunchRequest) -> Mapping[str, object]:
    """A model behind an endpoint: the provider's own hosts are left alone then."""
    if request.endpoint is None:
        return {}
    provider = {
        "name": PROVIDER,
        "base_url": f"{request.endpoint.base_url}/v1",
        "wire_api": "responses",
        "env_key": KEY_VARIABLE,
    }
    return {"model_provider": PROVIDER, f"model_providers.{PROVIDER}": provider, "analytics.enabled": False}


def _inline(value: object) -> Item:
    """The value as TOML on one line."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, inner in value.items():
            table.append(key, _inline(inner))
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        for inner in value:
            array.append(_inline(inner))
        return array
    return tomlkit.item(value)
