"""Area c of the known faults: the life of a tmux server and of the programs in it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from mcp_agent.errors import RemoteError, TmuxMissing, TmuxTooOld
from mcp_agent.tmux.version import check_tmux

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.faults.conftest import House, Session, Shim

USERS_CONFIGURATION = """\
set -g base-index 1
setw -g pane-base-index 1
set -g prefix C-a
set -g status off
set -g mouse on
set -g remain-on-exit on
"""


def test_c04_the_users_own_tmux_configuration_changes_nothing(
    build_house: Callable[..., House], short_tmp: Path
) -> None:
    (short_tmp / ".tmux.conf").write_text(USERS_CONFIGURATION)
    house = build_house(HOME=str(short_tmp))
    session = house.start()

    assert session.send("hello") == "delivered"
    session.until(lambda: "  ECHO: hello" in session.screen().lines)
    session.stop()
    assert (session.state, session.submitted) == ("stopped", ["hello"])


def test_c06_a_shell_that_runs_nothing_does_not_matter(build_house: Callable[..., House]) -> None:
    house = build_house(SHELL="/bin/false")
    session = house.start({"SHELL": "/bin/false"})

    assert session.send("hello") == "delivered"


def test_c06_a_missing_program_is_named_and_leaves_no_session(house: House) -> None:
    before = house.sessions()
    with pytest.raises(RemoteError, match="python3"):
        house.start({"PATH": "/nowhere"})

    assert [session["id"] for session in house.sessions()] == [session["id"] for session in before]


@pytest.mark.contract("S9")
def test_c07_a_removed_socket_is_found_again_and_no_second_server_is_started(own_house: House) -> None:
    session = own_house.start()
    agent, server = session.pid, own_house.tmux_server
    own_house.state.tmux_socket.unlink()

    assert session.send("still there?") == "delivered"
    assert own_house.start().state == "ready"
    assert (session.state, session.pid, own_house.tmux_server) == ("ready", agent, server)


@pytest.mark.contract("S7", "S9")
def test_c07_a_killed_server_is_lost_and_the_next_start_works_over_its_socket(own_house: House) -> None:
    session = own_house.start()
    own_house.tmux_server.signal(signal.SIGKILL)

    session.until(lambda: session.state == "lost")
    assert own_house.start().send("hello") == "delivered"


@pytest.mark.contract("S1")
def test_c09_a_bare_tmux_of_the_agent_is_not_ours_and_our_sessions_live_on(own_house: House, short_tmp: Path) -> None:
    """The agent's tmux keeps its default socket below a directory of this test, so that nobody's server can be hit."""
    private, program = short_tmp / "theirs", short_tmp / "theirs-tmux"
    private.mkdir()
    program.write_text(f'#!/bin/sh\nexport TMUX_TMPDIR={private}\nexec {shutil.which("tmux")} "$@"\n')
    program.chmod(0o700)
    session, other = own_house.start(asked={"permission_mode": "allow-all"}), own_house.start()

    session.send(f"Please run exactly this command: `{program} kill-server; echo done`.")

    session.until(lambda: any("OUTPUT" in line for line in session.screen().lines))
    assert other.send("hello") == "delivered"
    session.until(lambda: session.state == "ready")
    seen = psutil.Process(session.pid).environ()
    assert not {"TMUX", "TMUX_PANE"} & seen.keys()


@pytest.mark.contract("S1")
def test_c09_inside_an_outer_tmux_nothing_lands_on_its_server(
    build_house: Callable[..., House], outer_tmux: Callable[..., str]
) -> None:
    before = outer_tmux("list-sessions")
    place = outer_tmux("display-message", "-p", "-t", "outer:", "#{socket_path},#{pid},0")
    house = build_house(TMUX=place, TMUX_PANE="%0")

    assert house.start().send("hello") == "delivered"
    assert outer_tmux("list-sessions") == before


@pytest.fixture
def outer_tmux(short_tmp: Path) -> Iterator[Callable[..., str]]:
    """Somebody's tmux around us, with one session, asked by its arguments."""
    socket = short_tmp / "outer.sock"

    def run(*arguments: str) -> str:
        argv = ["tmux", "-f", "/dev/null", "-S", str(socket), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, timeout=10, check=True).stdout.strip()

    run("new-session", "-d", "-s", "outer", "cat")
    yield run
    run("kill-server")


@pytest.mark.contract("S2")
def test_c10_an_agent_that_exits_is_told_with_its_status_and_takes_no_text(house: House) -> None:
    session = house.start(exit_status=7)
    try_to_send(session, "leave")

    session.until(lambda: session.state == "exited")
    assert session.show()["detail"] == "status 7"
    assert "exited" in str(session.refused("hello"))


@pytest.mark.contract("S2")
def test_c10_an_agent_that_is_killed_is_told_with_the_signal(house: House) -> None:
    session = house.start()
    os.kill(session.pid, signal.SIGKILL)

    session.until(lambda: session.state == "exited")
    assert session.show()["detail"] == "signal 9"
    assert "exited" in str(session.refused("hello"))


@pytest.mark.contract("S2")
def test_c11_a_text_for_a_dead_agent_is_refused_and_the_others_live_on(house: House) -> None:
    keep, victim = house.start(), house.start()
    os.kill(victim.pid, signal.SIGTERM)
    victim.until(lambda: victim.state == "exited")

    victim.refused("hello")
    assert keep.send("hello") == "delivered"


@pytest.mark.contract("S2", "I1")
@pytest.mark.parametrize("rounds", [10, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
def test_c11_an_exit_that_races_a_send_hurts_nobody_else(house: House, rounds: int) -> None:
    keep = house.start()
    server, agent = house.tmux_server, keep.pid
    for number in range(rounds):
        victim = house.start()
        pid = victim.pid
        sender = threading.Thread(target=try_to_send, args=(victim, "hello"))
        sender.start()
        threading.Event().wait(0.3 * number / rounds)
        os.kill(pid, signal.SIGTERM)
        sender.join()
        victim.stop()

    assert (house.tmux_server, keep.pid) == (server, agent)
    assert keep.send("hello") == "delivered"


@pytest.mark.contract("S6", "S7")
@pytest.mark.parametrize(
    "trouble", ["exit 1", "sleep 10", "echo 'error connecting: Permission denied' >&2; exit 1", "exit 127"]
)
def test_c12_a_tmux_that_fails_once_is_no_absence(troubled_house: tuple[House, Shim], trouble: str) -> None:
    house, shim = troubled_house
    session = house.start()
    agent, server, once = session.pid, house.tmux_server, house.root / "once"
    once.touch()
    shim.does(f"if rm {once} 2>/dev/null; then {trouble}; fi")

    cut_connection(house)

    session.until(lambda: not once.exists())
    assert session.state == "ready"
    session.until(lambda: sent(session, "hello"))
    session.until(lambda: session.state == "ready")
    assert (session.pid, house.tmux_server, session.submitted) == (agent, server, ["hello"])


@pytest.mark.contract("S7")
def test_c12_a_pane_that_is_explicitly_gone_is_lost(house: House) -> None:
    session = house.start()
    house.tmux("kill-window", "-t", session.pane)

    session.until(lambda: session.state == "lost")


@pytest.mark.parametrize("version", ["tmux 3.3a", "tmux next-3.4", "tmux openbsd-7.2", "garbage"])
def test_c13_a_version_that_will_do_or_says_nothing_is_let_pass(
    shim: Shim, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    shim.does(f"echo '{version}'; exit 0")
    monkeypatch.setenv("PATH", shim.path)

    assert check_tmux() == version.removeprefix("tmux ")


@pytest.mark.parametrize(
    ("script", "error", "words"),
    [("echo 'tmux 2.9a'; exit 0", TmuxTooOld, "2.9a"), ("exit 127", TmuxMissing, "tmux")],
)
def test_c13_a_version_that_is_too_old_or_missing_is_one_clear_line(
    shim: Shim, monkeypatch: pytest.MonkeyPatch, script: str, error: type[Exception], words: str
) -> None:
    shim.does(script)
    monkeypatch.setenv("PATH", shim.path)

    with pytest.raises(error, match=words) as caught:
        check_tmux()
    assert "\n" not in str(caught.value)


def try_to_send(session: Session, text: str) -> None:
    """Whatever becomes of it."""
    sent(session, text)


def sent(session: Session, text: str) -> bool:
    """Whether a send was delivered; one that was refused sent nothing."""
    try:
        return session.send(text) == "delivered"
    except RemoteError:
        return False


def cut_connection(house: House) -> None:
    """End the server's control client, as a fault does."""
    clients = [child for child in psutil.Process(house.pid).children(recursive=True) if "-C" in child.cmdline()]
    assert clients
    for client in clients:
        client.kill()
