"""The state directory: places, modes and ownership."""

import os
import re
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcp_agent.errors import BadConfiguration
from mcp_agent.state import LONGEST_SOCKET_PATH, StateDirectory, new_session_id, write_private


@pytest.fixture
def state(short_tmp: Path) -> StateDirectory:
    return StateDirectory(short_tmp / "home", short_tmp / "runtime")


@pytest.fixture
def deep(short_tmp: Path) -> StateDirectory:
    """A state directory whose own paths are too long for sockets."""
    (short_tmp / "runtime").mkdir()
    return StateDirectory(short_tmp / ("long" * 25), short_tmp / "runtime")


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


# --- places ----------------------------------------------------------------------------------------------------------


def test_the_environment_names_the_root(short_tmp: Path) -> None:
    assert StateDirectory.from_environment({"MCP_AGENT_HOME": str(short_tmp)}).root == short_tmp


@pytest.mark.parametrize("environ", [{}, {"MCP_AGENT_HOME": ""}])
def test_without_a_name_the_root_is_the_users_state_directory(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert StateDirectory.from_environment(environ).root == tmp_path / "mcp-agent"


def test_a_relative_name_is_taken_from_the_working_directory_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert StateDirectory.from_environment({"MCP_AGENT_HOME": "here"}).root == tmp_path / "here"


def test_a_home_of_nobody_is_refused() -> None:
    with pytest.raises(BadConfiguration, match="names nobody's home"):
        StateDirectory.from_environment({"MCP_AGENT_HOME": "~no-such-user/x"})


def test_every_place_is_below_the_root(state: StateDirectory) -> None:
    places = {
        "server.lock": state.lock,
        "server.json": state.server_record,
        "server.log": state.log,
        "owner-token": state.owner_token,
        "run/server.sock": state.server_socket,
        "run/tmux.sock": state.tmux_socket,
        "sessions/s-1": state.session("s-1"),
        "calls/call_1": state.call("call_1"),
    }
    assert all(path == state.root / place for place, path in places.items())


def test_naming_places_makes_nothing(state: StateDirectory) -> None:
    assert state.server_socket
    assert state.read_owner_token() is None
    assert not state.root.exists()


@pytest.mark.parametrize("identifier", ["", ".", "..", "../x", "a/b", "/etc", "a\0b"])
def test_an_id_never_leads_out_of_its_directory(state: StateDirectory, identifier: str) -> None:
    with pytest.raises(ValueError, match="is no id"):
        state.session(identifier)
    with pytest.raises(ValueError, match="is no id"):
        state.call(identifier)


def test_session_ids_are_short_and_never_the_same() -> None:
    ids = {new_session_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch(r"s-[0-9a-f]{10}", one) for one in ids)


# --- directories -----------------------------------------------------------------------------------------------------


@pytest.mark.contract("A1")
@pytest.mark.usefixtures("open_umask")
def test_directories_are_for_their_owner_only(state: StateDirectory) -> None:
    made = [state.make_session("s-1"), state.make_call("call_1")]
    directories = [state.root, state.sockets, state.sessions, state.calls, *made]
    assert [mode(path) for path in directories] == [0o700] * len(directories)


def test_making_it_again_changes_nothing(state: StateDirectory) -> None:
    (state.make_session("s-1") / "session.json").write_text("{}")
    state.create()
    assert state.make_session("s-1").joinpath("session.json").exists()


def test_an_empty_open_root_is_closed(state: StateDirectory) -> None:
    state.root.mkdir(mode=0o755)
    state.create()
    assert mode(state.root) == 0o700


def test_an_open_root_that_holds_things_is_refused_and_left_alone(state: StateDirectory) -> None:
    state.root.mkdir()
    state.root.chmod(0o755)
    (state.root / "thesis.txt").touch()
    with pytest.raises(BadConfiguration, match=r"open to other users .*chmod 700"):
        state.create()
    assert mode(state.root) == 0o755


def test_a_file_in_the_roots_place_is_refused(state: StateDirectory) -> None:
    state.root.touch()
    with pytest.raises(BadConfiguration, match="cannot be made a directory"):
        state.create()


def test_a_root_of_another_user_is_refused(state: StateDirectory) -> None:
    foreign = state.root if os.getuid() == 0 else Path("/usr")
    if os.getuid() == 0:
        foreign.mkdir()
        os.chown(foreign, 12345, 12345)
    with pytest.raises(BadConfiguration, match="belongs to another user"):
        StateDirectory(foreign).create()


def test_a_symlink_in_the_place_of_an_inner_directory_is_refused(state: StateDirectory, short_tmp: Path) -> None:
    state.root.mkdir(mode=0o700)
    state.sessions.symlink_to(short_tmp)
    with pytest.raises(BadConfiguration, match="is not a directory"):
        state.make_session("s-1")


# --- sockets ---------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S1")
def test_sockets_of_a_deep_root_get_a_short_private_place(deep: StateDirectory, short_tmp: Path) -> None:
    deep.create()
    assert deep.sockets.parent == short_tmp / "runtime" / f"mcp-agent-{os.getuid()}"
    assert all(len(os.fsencode(path)) <= LONGEST_SOCKET_PATH for path in (deep.server_socket, deep.tmux_socket))
    assert (mode(deep.sockets), mode(deep.sockets.parent)) == (0o700, 0o700)


@pytest.mark.contract("S1")
def test_the_length_of_a_socket_path_is_counted_in_bytes(short_tmp: Path) -> None:
    runtime = short_tmp / "runtime"
    assert StateDirectory(short_tmp / ("a" * 60), runtime).sockets.name == "run"
    assert StateDirectory(short_tmp / ("漢" * 60), runtime).sockets.name != "run"


@pytest.mark.contract("S9")
def test_two_deep_roots_never_share_their_sockets(deep: StateDirectory) -> None:
    other = StateDirectory(deep.root.with_name("else" * 25), deep.runtime)
    assert other.server_socket != deep.server_socket


@pytest.mark.contract("S9")
def test_sockets_stay_where_they_are_for_a_process_with_another_runtime_directory(
    deep: StateDirectory, short_tmp: Path
) -> None:
    deep.create()
    elsewhere = StateDirectory(deep.root, short_tmp / "other")
    elsewhere.create()
    assert elsewhere.server_socket == deep.server_socket
    assert not (short_tmp / "other").exists()


def test_sockets_move_when_their_place_can_no_longer_be_made(deep: StateDirectory, short_tmp: Path) -> None:
    deep.create()
    deep.sockets.rmdir()
    (short_tmp / "runtime").rename(short_tmp / "gone")
    (short_tmp / "other").mkdir()
    elsewhere = StateDirectory(deep.root, short_tmp / "other")
    elsewhere.create()
    assert elsewhere.sockets.is_relative_to(short_tmp / "other")
    assert elsewhere.sockets.is_dir()
    assert deep.sockets == elsewhere.sockets


@pytest.mark.contract("A1")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_short_place_that_another_user_made_first_is_refused(deep: StateDirectory) -> None:
    deep.sockets.parent.mkdir()
    os.chown(deep.sockets.parent, 12345, 12345)
    with pytest.raises(BadConfiguration, match="belongs to another user"):
        deep.create()


@pytest.mark.parametrize("named", [None, "", "relative", "/no/such/directory", "/tmp/" + "x" * 80])
def test_an_unusable_runtime_directory_is_ignored(named: str | None, short_tmp: Path) -> None:
    environ = {"MCP_AGENT_HOME": str(short_tmp)} | ({} if named is None else {"XDG_RUNTIME_DIR": named})
    assert StateDirectory.from_environment(environ).runtime == Path("/tmp")


def test_a_usable_runtime_directory_is_taken(short_tmp: Path) -> None:
    environ = {"MCP_AGENT_HOME": str(short_tmp), "XDG_RUNTIME_DIR": str(short_tmp)}
    assert StateDirectory.from_environment(environ).runtime == short_tmp


def test_an_empty_sockets_directory_is_removed_with_its_link(deep: StateDirectory, state: StateDirectory) -> None:
    for directory in (deep, state):
        directory.create()
        sockets = directory.sockets
        directory.remove_sockets_directory_if_empty()
        assert not sockets.exists()
        assert not (directory.root / "run").is_symlink()
        directory.remove_sockets_directory_if_empty()


def test_a_sockets_directory_in_use_is_kept(deep: StateDirectory) -> None:
    deep.create()
    deep.server_socket.touch()
    deep.remove_sockets_directory_if_empty()
    assert deep.server_socket.exists()


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.contract("A2")
@pytest.mark.usefixtures("open_umask")
def test_a_private_file_is_replaced_whole_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new\r\n漢")
    assert path.read_bytes() == "new\r\n漢".encode()
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_text_that_cannot_be_written_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_private(path, "new \ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        write_private(path, "new")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.contract("A2")
def test_the_owners_token_is_made_once_and_kept_private(state: StateDirectory) -> None:
    token = state.ensure_owner_token()
    assert len(token) >= 32
    assert state.ensure_owner_token() == state.read_owner_token() == token
    assert mode(state.owner_token) == 0o600
    assert not list(state.root.glob(".*"))


@pytest.mark.contract("A2")
def test_everyone_who_races_for_the_token_gets_the_same_one(state: StateDirectory) -> None:
    with ThreadPoolExecutor(16) as pool:
        tokens = set(pool.map(lambda _: state.ensure_owner_token(), range(64)))
    assert len(tokens) == 1


def test_an_empty_token_file_is_refused_and_never_taken_as_a_token(state: StateDirectory) -> None:
    state.create()
    state.owner_token.touch()
    assert state.read_owner_token() is None
    with pytest.raises(BadConfiguration, match="the file is empty"):
        state.ensure_owner_token()
