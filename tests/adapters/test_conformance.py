"""What every installed adapter must launch in the same way; `test_conformance_reading` asks what it must read.

The adapters are those that the entry-point group `mcp_agent.adapters` names, so a package of yours is asked as soon as
it is installed beside this one: `pytest tests/adapters/test_conformance*.py -k <the id of your adapter>`. The two
modules need nothing but `mcp_agent`, `pytest` and `hypothesis`; copy them into your own tests if you like.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent import registry
from mcp_agent.adapter import (
    Adapter,
    Launch,
    LaunchRequest,
    LiveInput,
    ModelEndpoint,
)

ADAPTERS = registry.load_all()
KEY = "key-5b1f0c27-that-nobody-may-see"
ENVIRONMENT_NAME = re.compile(r"^[A-Z][A-Z0-9_]*$")
TIMEOUT_WORDS = re.compile(r"time_?out|deadline|max_?turns", re.IGNORECASE)
LIMITS = st.timedeltas(min_value=timedelta(seconds=30), max_value=timedelta(hours=24))

each_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=[adapter.id for adapter in ADAPTERS])


def request_for(adapter: Adapter) -> LaunchRequest:
    return LaunchRequest(
        session_id="s-1",
        executable=Path("/opt/cli") / adapter.executable,
        working_directory=Path("/srv/project"),
        session_directory=Path("/state/sessions/s-1"),
        home=Path("/home/somebody"),
        home_is_ours=False,
        bridge_command=("/usr/bin/python3", "-I", "/lib/bridge.py", "/state/sessions/s-1/bridge.json"),
        event_command=("/usr/bin/python3", "-I", "/lib/event.py", "/state/sessions/s-1/bridge.json"),
        mcp_call=timedelta(minutes=90),
        native_session_id="2f7c6c0e-6a4e-4a1c-8f0e-0f4f7c9d5b11",
        resume=False,
        allow_tools=frozenset({"execute_shell_command"}),
        provider_shell=False,
        trust=True,
        model="m-1",
        endpoint=ModelEndpoint("http://127.0.0.1:1", KEY),
    )


def launches(adapter: Adapter) -> Iterator[tuple[LaunchRequest, Launch]]:
    """Every combination of what a launch depends on."""
    for ours, resume, trust, endpoint in product((False, True), repeat=4):
        request = replace(request_for(adapter), home_is_ours=ours, resume=resume, trust=trust)
        request = request if endpoint else replace(request, endpoint=None, model=None, allow_tools=frozenset())
        yield request, adapter.launch(request)


def all_text(launch: Launch) -> str:
    environment = (f"{name}={value}" for name, value in launch.environment.items())
    return "\n".join([*launch.argv, *environment, *(file.text for file in launch.files)])


# --- identity ---------------------------------------------------------------------------------------------------------


def test_some_adapter_is_installed() -> None:
    assert ADAPTERS


@each_adapter
def test_the_id_is_the_entry_points_name(adapter: Adapter) -> None:
    assert registry.load(adapter.id) is adapter


@each_adapter
def test_it_says_what_it_is_and_how_to_install_it(adapter: Adapter) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", adapter.id)
    assert adapter.title.strip()
    assert adapter.install_hint.strip()
    assert "/" not in adapter.executable


@each_adapter
@pytest.mark.contract("I4")
def test_it_declares_what_becomes_of_live_input(adapter: Adapter) -> None:
    assert adapter.live_input in set(LiveInput)


@each_adapter
@pytest.mark.parametrize("output", ["", "\n", "command not found", "\x00\ufffd"])
def test_output_without_a_version_has_none(adapter: Adapter, output: str) -> None:
    assert adapter.parse_version(output) is None


# --- launch -----------------------------------------------------------------------------------------------------------


@each_adapter
@pytest.mark.contract("A2")
def test_no_key_stands_on_a_command_line_or_in_a_representation(adapter: Adapter) -> None:
    for request, launch in launches(adapter):
        assert KEY not in " ".join(launch.argv)
        assert KEY not in repr(request)
        assert KEY not in repr(replace(launch, files=()))


@each_adapter
@pytest.mark.contract("A2")
def test_a_configuration_names_the_path_of_the_bridges_file(adapter: Adapter) -> None:
    for request, launch in launches(adapter):
        assert request.bridge_command[-1] in all_text(launch)


@each_adapter
@pytest.mark.contract("A4")
def test_files_stand_in_the_sessions_directory_or_in_a_home_of_ours(adapter: Adapter) -> None:
    for request, launch in launches(adapter):
        allowed = [request.session_directory, *([request.home] if request.home_is_ours else [])]
        for file in launch.files:
            assert any(file.path.is_relative_to(directory) for directory in allowed), file.path
            assert ".." not in file.path.parts


@each_adapter
@pytest.mark.contract("A4")
def test_a_launch_is_only_described(adapter: Adapter, tmp_path: Path) -> None:
    request = replace(
        request_for(adapter),
        working_directory=tmp_path / "work",
        session_directory=tmp_path / "session",
        home=tmp_path / "home",
        home_is_ours=True,
    )

    assert adapter.launch(request) == adapter.launch(request)
    assert list(tmp_path.iterdir()) == []


@each_adapter
@pytest.mark.contract("A3", "A4")
def test_the_command_line_names_no_directory_that_was_not_given(adapter: Adapter, tmp_path: Path) -> None:
    given = replace(request_for(adapter), working_directory=tmp_path / "w", session_directory=tmp_path / "s")
    known = (str(given.working_directory), str(given.session_directory), str(given.home))

    for word in adapter.launch(given).argv[1:]:
        for path in re.findall(r"(?:^|(?<==))/\S+", word):
            assert path.startswith((*known, *given.bridge_command, *given.event_command)), path


@each_adapter
@pytest.mark.contract("S2")
def test_the_cli_is_started_without_a_shell(adapter: Adapter) -> None:
    for _, launch in launches(adapter):
        assert Path(launch.argv[0]).is_absolute()
        assert Path(launch.argv[0]).name not in {"sh", "bash", "dash", "zsh", "env"}
        assert all("\0" not in word for word in launch.argv)


@each_adapter
@pytest.mark.contract("A3")
def test_the_environment_names_variables_of_its_own(adapter: Adapter) -> None:
    for _, launch in launches(adapter):
        assert all(ENVIRONMENT_NAME.match(name) for name in launch.environment)
        assert not {"HOME", "PATH", "TMUX", "TMUX_PANE"} & launch.environment.keys()
        assert not any(name.startswith("MCP_AGENT") for name in launch.environment)


@each_adapter
@pytest.mark.contract("A2", "A3")
def test_it_asks_for_no_variable_of_ours_or_of_tmux(adapter: Adapter) -> None:
    asked = {*adapter.environment_names, *adapter.credential_names}

    assert all(ENVIRONMENT_NAME.match(name) for name in asked)
    assert not any(name.startswith(("MCP_AGENT", "TMUX", "LD_")) for name in asked)
    assert set(adapter.credential_names) <= set(adapter.environment_names)


@each_adapter
@pytest.mark.contract("A5")
def test_a_mode_that_was_named_is_passed_on_and_none_is_invented(adapter: Adapter) -> None:
    asking, named = request_for(adapter), replace(request_for(adapter), permission_mode="a-mode-of-its-own")

    assert not re.search(r"bypass|dangerous|yolo", " ".join(adapter.launch(asking).argv), re.IGNORECASE)
    assert adapter.launch(named).argv[0] == adapter.launch(asking).argv[0]


@each_adapter
@pytest.mark.contract("A5")
def test_every_mode_that_a_person_may_name_changes_what_is_launched(adapter: Adapter) -> None:
    asking = adapter.launch(request_for(adapter))
    named = [adapter.launch(replace(request_for(adapter), permission_mode=mode)) for mode in adapter.permission_modes]

    assert all(re.fullmatch(r"[A-Za-z][A-Za-z-]*", mode) for mode in adapter.permission_modes)
    assert sum(launch == asking for launch in named) <= 1


@each_adapter
@pytest.mark.contract("A5")
def test_trust_is_never_written_without_consent(adapter: Adapter) -> None:
    trusting = replace(request_for(adapter), home_is_ours=True)
    doubting = replace(trusting, trust=False)
    elsewhere = replace(trusting, home_is_ours=False)

    assert not re.search(r'"\w*trust\w*": true', all_text(adapter.launch(doubting)), re.IGNORECASE)
    assert not re.search(r'"\w*trust\w*": true', all_text(adapter.launch(elsewhere)), re.IGNORECASE)


@each_adapter
@pytest.mark.contract("S7")
def test_a_resumed_conversation_is_named(adapter: Adapter) -> None:
    for request, launch in launches(adapter):
        if request.resume:
            assert launch.native_session_id == request.native_session_id
            assert request.native_session_id in all_text(launch)


# --- limits -----------------------------------------------------------------------------------------------------------


@each_adapter
@pytest.mark.contract("T3", "T11")
@given(limit=LIMITS)
def test_an_mcp_limit_is_an_exact_division(adapter: Adapter, limit: timedelta) -> None:
    setting = adapter.mcp_timeout(limit)

    if setting is not None:
        unit = {"ms": timedelta(milliseconds=1), "s": timedelta(seconds=1)}[setting.unit]
        assert setting.value == limit // unit
        assert setting.setting


@each_adapter
@pytest.mark.contract("T3", "T5")
def test_a_launch_follows_the_limit_it_is_given(adapter: Adapter) -> None:
    request = request_for(adapter)
    setting = adapter.mcp_timeout(timedelta(seconds=4321))
    written = all_text(adapter.launch(replace(request, mcp_call=timedelta(seconds=4321))))

    if setting is None:
        assert written == all_text(adapter.launch(request))
    else:
        assert re.search(rf"\b{setting.value}\b", written)


@each_adapter
@pytest.mark.contract("T5")
def test_a_cli_without_an_mcp_limit_is_told_none_and_has_a_ceiling(adapter: Adapter) -> None:
    if adapter.mcp_timeout(timedelta(minutes=90)) is None:
        assert adapter.client_ceiling is not None
        for _, launch in launches(adapter):
            keys = re.findall(r'"?(\w*)"?\s*[:=]', all_text(launch))
            assert not [key for key in keys if re.search(r"time_?out", key, re.IGNORECASE)]


@each_adapter
@pytest.mark.contract("T10")
def test_nothing_in_a_launch_ends_a_turn(adapter: Adapter) -> None:
    setting = adapter.mcp_timeout(timedelta(minutes=90))
    hooks = {"timeout"}
    for _, launch in launches(adapter):
        flags = [word for word in launch.argv if word.startswith("-")]
        named = [*flags, *launch.environment]
        known = {setting.setting} if setting else set[str]()
        assert not [name for name in named if TIMEOUT_WORDS.search(name) and name not in known]
        written = set(re.findall(r'"(\w+)"\s*:', "\n".join(file.text for file in launch.files)))
        assert not [key for key in written - known - hooks if TIMEOUT_WORDS.search(key)]


@each_adapter
@pytest.mark.contract("S4")
def test_its_own_limits_are_positive(adapter: Adapter) -> None:
    limits = adapter.limits

    assert limits.idle_retention > timedelta(0)
    assert limits.prompt_ready_inactivity > timedelta(0)
    assert limits.prompt_ready_absolute is None or limits.prompt_ready_absolute >= limits.prompt_ready_inactivity
