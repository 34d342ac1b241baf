"""What a launch holds: no secret where others read it, no file where others keep theirs."""

import re
from dataclasses import replace
from pathlib import Path

from mcp_agent.adapter import Adapter
from mcp_agent.scenarios.conformance.described.launches import KEY, all_text, launches, request_for
from mcp_agent.scenarios.conformance.question import Describes, Question
from mcp_agent.scenarios.probes import require

_ENVIRONMENT_NAME = re.compile(r"^[A-Z][A-Z0-9_]*$")
_NOT_A_CLIS = frozenset({"HOME", "PATH", "TMUX", "TMUX_PANE"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "env"})


def no_key_stands_in_argv_or_in_a_representation(adapter: Adapter) -> None:
    """A process list, a log line and a traceback show no key."""
    for request, launch in launches(adapter):
        require(KEY not in " ".join(launch.argv), "the key stands in argv")
        require(KEY not in repr(request), "the key stands in the request's representation")
        require(KEY not in repr(replace(launch, files=())), "the key stands in the launch's representation")


def a_configuration_names_the_path_of_the_bridges_file(adapter: Adapter) -> None:
    """No token is in a configuration: the bridge reads it from a file of its own."""
    for request, launch in launches(adapter):
        require(request.bridge_command[-1] in all_text(launch), "the bridge is not told where its file is")


def files_stand_in_the_sessions_directory_or_in_a_home_of_ours(adapter: Adapter) -> None:
    """A person's home is never written into."""
    for request, launch in launches(adapter):
        allowed = [request.session_directory, *([request.home] if request.home_is_ours else [])]
        for file in launch.files:
            inside = any(file.path.is_relative_to(directory) for directory in allowed)
            require(inside and ".." not in file.path.parts, f"{file.path} is a file of somebody else's")


def the_same_request_gives_the_same_launch(adapter: Adapter) -> None:
    """A launch is described, and nothing is done for it."""
    request = request_for(adapter)
    require(adapter.launch(request) == adapter.launch(request), "two launches of one request differ")


def the_command_line_names_no_directory_that_was_not_given(adapter: Adapter) -> None:
    """Nothing of the machine that the adapter was written on is left in it."""
    given = replace(request_for(adapter), working_directory=Path("/w/1"), session_directory=Path("/s/1"))
    known = (str(given.working_directory), str(given.session_directory), str(given.home))
    for word in adapter.launch(given).argv[1:]:
        for path in re.findall(r"(?:^|(?<==))/\S+", word):
            is_known = path.startswith((*known, *given.bridge_command, *given.event_command))
            require(is_known, f"argv names {path}")


def the_cli_is_started_without_a_shell(adapter: Adapter) -> None:
    """The pane's process is the CLI, so that its end is the CLI's end."""
    for _, launch in launches(adapter):
        program = Path(launch.argv[0])
        require(program.is_absolute() and program.name not in _SHELLS, f"{program} is started, not the CLI itself")
        require(all("\0" not in word for word in launch.argv), "argv holds a NUL")


def the_environment_names_variables_of_its_own(adapter: Adapter) -> None:
    """What the session manager decides, HOME and PATH among it, is not decided again."""
    for _, launch in launches(adapter):
        for name in launch.environment:
            require(bool(_ENVIRONMENT_NAME.match(name)), f"{name!r} is no variable's name")
            require(name not in _NOT_A_CLIS and not name.startswith("MCP_AGENT"), f"{name} is not the adapter's to set")


def it_asks_for_no_variable_of_ours_or_of_tmux(adapter: Adapter) -> None:
    """What a CLI may see of its caller is an allow-list."""
    for name in {*adapter.environment_names, *adapter.credential_names}:
        require(bool(_ENVIRONMENT_NAME.match(name)), f"{name!r} is no variable's name")
        require(not name.startswith(("MCP_AGENT", "TMUX", "LD_")), f"{name} is nothing that a CLI may see")
    missing = set(adapter.credential_names) - set(adapter.environment_names)
    require(not missing, f"credentials that the CLI does not see: {sorted(missing)}")


def trust_is_never_written_without_consent(adapter: Adapter) -> None:
    """A directory is trusted only with a person's word, and only in a home of ours by a file."""
    trusting = replace(request_for(adapter), home_is_ours=True)
    for request in (replace(trusting, trust=False), replace(trusting, home_is_ours=False)):
        written = re.search(r'"\w*trust\w*": true', all_text(adapter.launch(request)), re.IGNORECASE)
        require(written is None, "trust is written down without consent")


def a_resumed_conversation_is_named(adapter: Adapter) -> None:
    """A conversation goes on by its own id, never as the newest one."""
    for request, launch in launches(adapter):
        if request.resume:
            require(launch.native_session_id == request.native_session_id, "another conversation is resumed")
            require(request.native_session_id in all_text(launch), "the conversation to resume is not named")


QUESTIONS: tuple[Question[Describes], ...] = (
    Question(no_key_stands_in_argv_or_in_a_representation),
    Question(a_configuration_names_the_path_of_the_bridges_file),
    Question(files_stand_in_the_sessions_directory_or_in_a_home_of_ours),
    Question(the_same_request_gives_the_same_launch),
    Question(the_command_line_names_no_directory_that_was_not_given),
    Question(the_cli_is_started_without_a_shell),
    Question(the_environment_names_variables_of_its_own),
    Question(it_asks_for_no_variable_of_ours_or_of_tmux),
    Question(trust_is_never_written_without_consent),
    Question(a_resumed_conversation_is_named),
)
