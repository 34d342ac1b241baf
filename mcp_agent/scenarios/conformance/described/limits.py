"""How an adapter tells its CLI of limits and permission modes, and which bounds are its own."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from mcp_agent.adapter import Adapter, Launch
from mcp_agent.scenarios.conformance.capabilities import Setting
from mcp_agent.scenarios.conformance.described.launches import all_text, launches, request_for
from mcp_agent.scenarios.conformance.question import Describes, Question
from mcp_agent.scenarios.probes import require
from mcp_agent.timeouts import McpTimeoutSetting

_TIMEOUT_WORDS = re.compile(r"time_?out|deadline|max_?turns", re.IGNORECASE)
_BYPASS = re.compile(r"bypass|dangerous|yolo", re.IGNORECASE)
_MODE = re.compile(r"[A-Za-z][A-Za-z-]*")
_UNITS = {"ms": timedelta(milliseconds=1), "s": timedelta(seconds=1)}
_LIMITS = (timedelta(seconds=30), timedelta(seconds=4321), timedelta(minutes=90), timedelta(hours=24))
_A_LIMIT = timedelta(seconds=4321)
_HOOK_KEYS = frozenset({"timeout"})


def check_exact_division(adapter: Adapter, limit: timedelta) -> None:
    """The value that the CLI is told is the limit in the CLI's own unit."""
    setting = adapter.mcp_timeout(limit)
    if setting is not None:
        require(setting.value == limit // _UNITS[setting.unit], f"{limit} became {setting.value} {setting.unit}")
        require(bool(setting.setting), "the setting has no name")


def an_mcp_timeout_is_an_exact_division(adapter: Adapter) -> None:
    """Seconds are never taken for milliseconds."""
    for limit in _LIMITS:
        check_exact_division(adapter, limit)


def a_launch_tells_the_mcp_timeout_that_it_is_given(adapter: Adapter) -> None:
    """The limit in force is the one that the CLI has."""
    setting = adapter.mcp_timeout(_A_LIMIT)
    written = all_text(adapter.launch(replace(request_for(adapter), mcp_call=_A_LIMIT)))
    told = setting is not None and re.search(rf"\b{setting.value}\b", written)
    require(bool(told), f"{setting} does not stand in the launch")


def without_an_mcp_timeout_there_is_a_ceiling_and_nothing_is_told(adapter: Adapter) -> None:
    """A CLI without a setting is told none, and its own bound is known."""
    if adapter.mcp_timeout(_A_LIMIT) is not None:
        return
    require(adapter.client_ceiling is not None, "neither an MCP timeout nor a client ceiling is known")
    for _, launch in launches(adapter):
        keys = re.findall(r'"?(\w*)"?\s*[:=]', all_text(launch))
        told = [key for key in keys if re.search(r"time_?out", key, re.IGNORECASE)]
        require(not told, f"a timeout is written all the same: {told}")


def nothing_in_a_launch_ends_a_turn(adapter: Adapter) -> None:
    """No adapter imposes a turn deadline."""
    for request, launch in launches(adapter):
        setting = adapter.mcp_timeout(request.mcp_call)
        limits = [(name, value) for name, value in _told(launch) if _TIMEOUT_WORDS.search(name)]
        unknown = sorted({name for name, value in limits if not _bounds_a_call(name, value, setting)})
        require(not unknown, f"these may end a turn: {unknown}")


def _told(launch: Launch) -> Iterator[tuple[str, str]]:
    """Every name that a launch tells the CLI, with its value where it has one."""
    yield from ((word, "") for word in launch.argv if word.startswith("-"))
    yield from launch.environment.items()
    for file in launch.files:
        yield from re.findall(r'"(\w+)"\s*:\s*"?([^",}\s]*)', file.text)


def _bounds_a_call(name: str, value: str, setting: McpTimeoutSetting | None) -> bool:
    """It is the setting itself, a hook's own bound, or another bound of one MCP call that never fires before ours."""
    if setting is not None and name == setting.setting:
        return True
    longer = setting is not None and value.isdecimal() and int(value) >= setting.value
    return name in _HOOK_KEYS or ("MCP" in name.upper() and longer)


def its_own_limits_are_positive(adapter: Adapter) -> None:
    """A start and an idle session are bounded, and not by zero."""
    limits = adapter.limits
    inactivity, absolute = limits.prompt_ready_inactivity, limits.prompt_ready_absolute
    require(limits.idle_retention > timedelta(0), "idle retention is not positive")
    require(inactivity > timedelta(0), "the bound on an inactive start is not positive")
    require(absolute is None or absolute >= inactivity, "the absolute bound is below that on inactivity")


def no_bypass_is_invented(adapter: Adapter) -> None:
    """Sessions start in the mode that asks; another one is a person's choice."""
    asking, named = request_for(adapter), replace(request_for(adapter), permission_mode="a-mode-of-its-own")
    require(not _BYPASS.search(" ".join(adapter.launch(asking).argv)), "permissions are bypassed unasked")
    require(adapter.launch(named).argv[0] == adapter.launch(asking).argv[0], "a mode changes the program")


def every_permission_mode_changes_what_is_launched(adapter: Adapter) -> None:
    """A mode that a person names has an effect."""
    asking = adapter.launch(request_for(adapter))
    named = [adapter.launch(replace(request_for(adapter), permission_mode=mode)) for mode in adapter.permission_modes]
    odd = [mode for mode in adapter.permission_modes if not _MODE.fullmatch(mode)]
    require(not odd, f"no words that a person could type: {odd}")
    require(sum(launch == asking for launch in named) <= 1, "modes that change nothing")


QUESTIONS: tuple[Question[Describes], ...] = (
    Question(an_mcp_timeout_is_an_exact_division, Setting.MCP_TIMEOUT),
    Question(a_launch_tells_the_mcp_timeout_that_it_is_given, Setting.MCP_TIMEOUT),
    Question(without_an_mcp_timeout_there_is_a_ceiling_and_nothing_is_told),
    Question(nothing_in_a_launch_ends_a_turn),
    Question(its_own_limits_are_positive),
    Question(no_bypass_is_invented),
    Question(every_permission_mode_changes_what_is_launched, Setting.PERMISSION_MODES),
)
