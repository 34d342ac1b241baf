"""Finding the user's tools: the entry-point group `mcp_agent.tools`, and the modules that the configuration names.

What cannot be used is a problem in one line, and costs only itself.
"""

import inspect
import logging
import re
import sys
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from mcp_agent.errors import McpAgentError
from mcp_agent.tools.custom import CustomTool
from mcp_agent.tools.custom_running import message_of
from mcp_agent.tools.tool import Tool

GROUP = "mcp_agent.tools"

LOADED_WITHIN = timedelta(seconds=10)
"""How long the imports may take, all together: a module that hangs must not keep the server from starting."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The user's tools by name, and one line for each thing that is none."""

    tools: dict[str, Tool[Any]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def load_custom_tools(
    modules: Sequence[str] = (),
    *,
    paths: Sequence[Path] = (),
    taken: Collection[str] = (),
    within: timedelta = LOADED_WITHIN,
) -> Loaded:
    """Every tool of the installed entry points, then of these modules (`package.module`, or `package.module:name`).

    `paths` are directories in which modules are found that are not installed. `taken` are the names of other tools. Of
    two tools with one name the first one found stays. Never raises.
    """
    loaded = Loaded(problems=_search_in(paths))
    owners: dict[str, tuple[str, object]] = dict.fromkeys(taken, ("mcp-agent itself", None))
    for source in _import_all([*_installed(), *map(_named, modules)], within):
        if source.problem is not None:
            loaded.problems.append(f"{source.label}: {source.problem}")
        for tool in source.tools:
            owner, known = owners.setdefault(tool.name, (source.label, tool))
            if known is tool:
                loaded.tools[tool.name] = tool
            else:
                loaded.problems.append(f"{source.label}: {owner} already has a tool {tool.name!r}")
    for problem in loaded.problems:
        log.error("custom tools: %s", problem)
    return loaded


def _search_in(paths: Sequence[Path]) -> list[str]:
    """Make modules in these directories importable, behind all others: none of them hides one that is installed."""
    problems = []
    for path in paths:
        try:
            next(path.iterdir(), None)
        except OSError as error:
            problems.append(f"[tools] paths: {path}: {error.strerror or error}")
        else:
            sys.path.extend({str(path)} - set(sys.path))
    return problems


def _installed() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def _named(module: str) -> EntryPoint:
    return EntryPoint(name="[tools] modules", value=module, group=GROUP)


@dataclass(frozen=True, slots=True)
class _Source:
    """One place that says it has tools, and what was found there."""

    label: str
    tools: Sequence[CustomTool[..., Any]] = ()
    problem: str | None = None


def _import_all(points: Sequence[EntryPoint], within: timedelta) -> list[_Source]:
    """All of them at once, each in a thread of its own, so that one that hangs holds up no other."""
    late = f"its import takes longer than {within.total_seconds():g} s"
    deadline = time.monotonic() + within.total_seconds()
    found: dict[int, _Source] = {}

    def load(at: int) -> None:
        found[at] = _load(points[at])

    threads = [threading.Thread(target=load, args=(at,), daemon=True) for at in range(len(points))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [found.get(at, _Source(_label(point), problem=late)) for at, point in enumerate(points)]


_VALUE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(\s*:\s*[^\W\d]\w*(\.[^\W\d]\w*)*)?")


def _load(point: EntryPoint) -> _Source:
    label = _label(point)
    if not _VALUE.fullmatch(point.value):
        return _Source(label, problem="no name of a Python module")
    try:
        tools = _tools_of(point.load())
    except McpAgentError as error:
        return _Source(label, problem=_one_line(error))
    except BaseException as error:
        # Foreign code at import: it may raise anything, and even exit.
        log.warning("the import of %s failed", point.value, exc_info=error)
        return _Source(label, problem=f"cannot be imported: {type(error).__name__}: {_one_line(error)}")
    return _Source(label, tools, None if tools else "has no tool; mark its functions with @tool")


def _label(point: EntryPoint) -> str:
    return f"{point.name}: {point.value}"


def _tools_of(found: object) -> list[CustomTool[..., Any]]:
    if isinstance(found, ModuleType):
        return [value for value in list(vars(found).values()) if isinstance(value, CustomTool)]
    if isinstance(found, CustomTool):
        return [found]
    return [CustomTool(found)] if inspect.isroutine(found) else []


def _one_line(error: BaseException) -> str:
    return " ".join(message_of(error).split())
