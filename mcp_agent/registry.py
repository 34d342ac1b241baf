"""Finding adapters: the entry-point group `mcp_agent.adapters`, and nothing imported by name.

An entry point's name is the provider's id; it points at an object that speaks `mcp_agent.adapter.Adapter`.
"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from mcp_agent.adapter import Adapter
from mcp_agent.errors import BadConfiguration, UnknownAdapter

GROUP = "mcp_agent.adapters"


def installed() -> tuple[str, ...]:
    """The ids of all installed adapters, sorted; none of them is imported."""
    return tuple(sorted(_found()))


def load(name: str) -> Adapter:
    """The adapter of this id.

    Raises `UnknownAdapter` when no entry point has the name, `BadConfiguration` when what it points at cannot be used.
    """
    found = _found()
    if name not in found:
        raise UnknownAdapter(name, tuple(sorted(found)))
    adapter = _import(found[name])
    if getattr(adapter, "id", None) != name:
        raise BadConfiguration(_subject(name), f"{found[name].value} is no adapter with the id {name!r}")
    return cast("Adapter", adapter)


def load_all() -> tuple[Adapter, ...]:
    """Every installed adapter, sorted by id; raises `BadConfiguration` for the first one that cannot be used."""
    return tuple(load(name) for name in installed())


def _found() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _import(point: EntryPoint) -> object:
    try:
        return point.load()
    except Exception as error:
        raise BadConfiguration(_subject(point.name), f"{point.value} cannot be loaded: {_one_line(error)}") from error


def _subject(name: str) -> str:
    return f"adapter {name}"


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
