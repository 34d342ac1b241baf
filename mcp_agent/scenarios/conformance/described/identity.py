"""Who an adapter is, and what it declares."""

import re
from pathlib import PurePosixPath

from mcp_agent import registry
from mcp_agent.adapter import Adapter, Capability, LiveInput
from mcp_agent.scenarios.conformance.question import Describes, Question
from mcp_agent.scenarios.probes import require

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NO_VERSIONS = ("", "\n", "command not found", "\x00\ufffd")
_WHERE = ("~", ".")


def its_id_is_its_entry_points_name(adapter: Adapter) -> None:
    """The name that a person types finds this adapter."""
    require(bool(_ID.fullmatch(adapter.id)), f"the id {adapter.id!r} is not lower case words joined by dashes")
    require(registry.load(adapter.id) is adapter, f"the entry point {adapter.id} leads to another adapter")


def it_says_what_it_is_and_how_to_install_it(adapter: Adapter) -> None:
    """A person without the CLI is told how to get it."""
    require(bool(adapter.title.strip()), "it has no title")
    require(bool(adapter.install_hint.strip()), "it has no install hint")
    require("/" not in adapter.executable, "its executable is a path, not a name on PATH")


def it_declares_what_becomes_of_live_input(adapter: Adapter) -> None:
    """Whoever sends during a turn knows which turn takes it."""
    require(adapter.live_input in set(LiveInput), f"live_input is {adapter.live_input!r}")


def it_declares_what_it_lacks_with_a_reason(adapter: Adapter) -> None:
    """A question is left out only for a capability that is said to be lacking, and why."""
    for capability, reason in adapter.lacks.items():
        require(capability in set(Capability), f"{capability!r} is no capability")
        require(bool(reason.strip()) and "\n" not in reason, f"no one-line reason why {capability} is lacking")


def it_names_a_users_own_files_by_relative_paths(adapter: Adapter) -> None:
    """The suite knows which files to plant before a session and to compare after it."""
    for name in adapter.user_files:
        where, *parts = PurePosixPath(name).parts if name.startswith("~") else (".", *PurePosixPath(name).parts)
        require(name.startswith(("~/", "./")), f"{name} does not begin with ~/ or ./")
        require(where in _WHERE and bool(parts) and ".." not in parts, f"{name} leads out of its directory")


def output_without_a_version_has_none(adapter: Adapter) -> None:
    """An unknown version is said to be unknown, never guessed."""
    for output in _NO_VERSIONS:
        require(adapter.parse_version(output) is None, f"a version was read from {output!r}")


def its_tested_versions_are_versions(adapter: Adapter) -> None:
    """A version that is tested compares with what the program prints."""
    for version in adapter.tested_versions:
        require(bool(re.match(r"\d", version)), f"{version!r} is no version")


QUESTIONS: tuple[Question[Describes], ...] = (
    Question(its_id_is_its_entry_points_name),
    Question(it_says_what_it_is_and_how_to_install_it),
    Question(it_declares_what_becomes_of_live_input),
    Question(it_declares_what_it_lacks_with_a_reason),
    Question(it_names_a_users_own_files_by_relative_paths),
    Question(output_without_a_version_has_none),
    Question(its_tested_versions_are_versions),
)
