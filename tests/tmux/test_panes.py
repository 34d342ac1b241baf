"""What only a real tmux can prove: processes, environments, and bytes."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import anyio
import libtmux
import psutil
import pytest

from mcp_agent.errors import BadWorkingDirectory, PaneDead, TmuxCommandFailed
from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.protocol import LONGEST_WORD
from mcp_agent.tmux.terminal import Capture, Died, Lost, PaneRef, Terminal

pytestmark = pytest.mark.anyio


class Actors(Protocol):
    async def launch(self, terminal: Terminal, name: str = ..., **tags: str) -> PaneRef: ...

    async def say(self, terminal: Terminal, pane: PaneRef, text: str) -> None: ...

    async def until(self, terminal: Terminal, pane: PaneRef, text: str) -> Capture: ...


class Recording(Protocol):
    @property
    def terminal(self) -> TmuxTerminal: ...

    @property
    def pane(self) -> PaneRef: ...

    async def until(self, size: int) -> bytes: ...


TAGS = {"session": "s-1"}
BEGIN, END = b"\x1b[200~", b"\x1b[201~"


@pytest.mark.contract("I3")
@pytest.mark.parametrize(
    "text",
    [
        ";",
        "go;",
        "a;;",
        "a\\;",
        "-n",
        "--help",
        "-----BEGIN X",
        "Enter",
        "C-c",
        "#{pid} $HOME ~ 'x' \"y\"",
        "/compact",
        "!ls",
        "one\ntwo\n",
        "one\r\ntwo\r\n\tthree",
        "字 é 👩‍👩‍👧",
        "\x1b[201~rm -rf\r",
        "\x03\x04\x1a\x7f\x00\x1b\x9b",
        "trailing  \n\n",
    ],
)
async def test_a_text_arrives_byte_for_byte_as_one_paste(recording: Recording, text: str) -> None:
    await recording.terminal.paste(recording.pane, text)
    expected = BEGIN + text.encode() + END
    assert await recording.until(len(expected)) == expected


@pytest.mark.contract("I3")
async def test_a_mebibyte_arrives_byte_for_byte(recording: Recording) -> None:
    text = "".join(f"line {number} ä字\n" for number in range(70_000))[: 1 << 20]
    expected = BEGIN + text.encode() + END
    await recording.terminal.paste(recording.pane, text)
    assert await recording.until(len(expected)) == expected


async def test_keys_are_pressed_in_order_outside_the_paste(recording: Recording) -> None:
    await recording.terminal.paste(recording.pane, "x")
    await recording.terminal.press(recording.pane, "Enter", "C-u", "Escape")
    assert await recording.until(16) == BEGIN + b"x" + END + b"\r\x15\x1b"


@pytest.mark.contract("I1")
async def test_parallel_pastes_never_mix_and_leave_no_buffer(
    recording: Recording, terminal: TmuxTerminal, actors: Actors, server: libtmux.Server
) -> None:
    dead = await actors.launch(terminal)
    async with terminal.watch(dead) as events:
        await actors.say(terminal, dead, "exit 0")
        assert [event async for event in events][-1] == Died(0, None)
    with pytest.raises(PaneDead):
        await terminal.paste(dead, "late")
    texts = [f"<{number}:{'x' * 5000}>" for number in range(20)]
    async with anyio.create_task_group() as tasks:
        for text in texts:
            tasks.start_soon(terminal.paste, recording.pane, text)
    received = await recording.until(sum(map(len, texts)) + 12 * len(texts))
    assert sorted(received.decode().replace(BEGIN.decode(), "").split(END.decode())) == sorted(["", *texts])
    assert server.cmd("list-buffers").stdout == []


@pytest.mark.contract("S2")
async def test_pastes_that_race_an_exit_never_hurt_the_others(terminal: TmuxTerminal, actors: Actors) -> None:
    keeper = await actors.launch(terminal, "keeper")
    for _ in range(10):
        victim = await actors.launch(terminal, "victim")
        await actors.say(terminal, victim, "exit 0")
        with anyio.fail_after(20), pytest.raises(PaneDead):
            while True:
                await terminal.paste(victim, "race")
        await terminal.close(victim)
    await actors.say(terminal, keeper, "alive")
    await actors.until(terminal, keeper, "got alive")


@pytest.mark.contract("S2")
@pytest.mark.parametrize("arguments", [[], ["an argument", "#{pid}", "$HOME;", "~"]])
async def test_the_program_is_the_panes_process_and_no_shell_stands_in_between(
    terminal: TmuxTerminal, short_tmp: Path, server: libtmux.Server, arguments: list[str]
) -> None:
    program = short_tmp / "a program"
    program.write_text(f"#!{sys.executable} -I\nimport time; print('up', flush=True); time.sleep(600)\n")
    program.chmod(0o700)
    pane = await terminal.spawn(name="x", argv=[str(program), *arguments], cwd=short_tmp, environment={}, tags=TAGS)
    async with terminal.watch(pane) as events:
        with anyio.fail_after(20):
            while "up" not in (await terminal.capture(pane)).lines:
                await events.receive()
    process = psutil.Process(pane.pid)
    assert process.cmdline() == [sys.executable, "-I", str(program), *arguments]
    assert process.ppid() == int(server.cmd("display-message", "-p", "#{pid}").stdout[0])


@pytest.mark.contract("A2", "A3")
async def test_a_program_sees_only_its_own_environment_and_no_argv_shows_it(
    socket: Path, short_tmp: Path, actors: Actors, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "s3cret-7c1d"
    monkeypatch.setenv("LEAKED_KEY", secret)
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.setenv("TMUX", "/tmp/other,1,0")
    told = {"TOKEN": f"{secret}-too\n'\"$HOME", "EMPTY": "", "PATH": "/nowhere"}
    program = "import time; print('up', flush=True); time.sleep(600)"
    async with TmuxTerminal.open(socket) as terminal:
        pane = await terminal.spawn(
            name="x", argv=[sys.executable, "-I", "-c", program], cwd=short_tmp, environment=told, tags=TAGS
        )
        await actors.until(terminal, pane, "up")
        environment = dict(psutil.Process(pane.pid).environ())
        assert {name: environment.get(name) for name in told} == told
        assert set(environment) - set(told) <= {
            *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "SHELL", "PWD", "OLDPWD", "SHLVL", "TERM"),
            *("TERM_PROGRAM", "TERM_PROGRAM_VERSION", "_"),
            *(name for name in os.environ if name.startswith("LC_")),
        }
        shown = [process.info["cmdline"] for process in psutil.process_iter(["cmdline"])]
        assert not any(secret in word for words in shown for word in words or ())


@pytest.mark.contract("S2")
async def test_a_program_that_does_not_exist_is_a_pane_that_died(terminal: TmuxTerminal, short_tmp: Path) -> None:
    pane = await terminal.spawn(name="x", argv=["/no/such/cli"], cwd=short_tmp, environment={}, tags=TAGS)
    with anyio.fail_after(20):
        async with terminal.watch(pane) as events:
            assert [event async for event in events][-1] == Died(127, None)


async def test_a_directory_is_the_programs_own_whatever_its_name(
    terminal: TmuxTerminal, actors: Actors, short_tmp: Path
) -> None:
    for name in ("#{pid}", "##[x]#", "%H #(id) $HOME ~", "ü;'\""):
        directory = short_tmp / name
        directory.mkdir()
        show = ["sh", "-c", "pwd; read -r _"]
        pane = await terminal.spawn(name=name, argv=show, cwd=directory, environment={}, tags=TAGS)
        assert str(directory) in (await actors.until(terminal, pane, str(short_tmp))).lines
    with pytest.raises(BadWorkingDirectory):
        await terminal.spawn(name="x", argv=["cat"], cwd=short_tmp / "none", environment={}, tags=TAGS)


async def test_names_that_tmux_would_confuse_stay_apart(terminal: TmuxTerminal, short_tmp: Path) -> None:
    names = ["rel.1", "rel_1", "rel:1", "rel", "", "-x", "$1", "=rel", "x" * 300]
    panes = [
        await terminal.spawn(name=name, argv=["cat"], cwd=short_tmp, environment={}, tags={"name": name})
        for name in names
    ]
    await terminal.close(panes[names.index("rel")])
    assert sorted(info.tags["name"] for info in await terminal.panes()) == sorted(set(names) - {"rel"})


async def test_wide_characters_and_wrapped_lines_are_captured_whole(terminal: TmuxTerminal, actors: Actors) -> None:
    pane = await actors.launch(terminal)
    await actors.say(terminal, pane, f"say {'字' * 70} ⚠ é")
    screen = await actors.until(terminal, pane, "got say")
    assert f"got say {'字' * 70} ⚠ é" in screen.lines


@pytest.mark.contract("S8")
async def test_a_pane_that_somebody_else_closes_is_lost_though_its_program_lives(
    terminal: TmuxTerminal, actors: Actors, short_tmp: Path, server: libtmux.Server
) -> None:
    deaf = "import signal,time; signal.signal(signal.SIGHUP, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    pane = await terminal.spawn(
        name="x", argv=[sys.executable, "-I", "-c", deaf], cwd=short_tmp, environment={}, tags=TAGS
    )
    await actors.until(terminal, pane, "up")
    try:
        with anyio.fail_after(20):
            async with terminal.watch(pane) as events:
                server.cmd("kill-window", "-t", pane.window_id)
                assert [event async for event in events][-1] == Lost()
        assert psutil.pid_exists(pane.pid)
    finally:
        psutil.Process(pane.pid).kill()


@pytest.mark.contract("S2")
async def test_a_death_is_told_without_a_pidfd_too(
    terminal: TmuxTerminal, actors: Actors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    pane = await actors.launch(terminal)
    with anyio.fail_after(20):
        async with terminal.watch(pane) as events:
            await actors.say(terminal, pane, "exit 5")
            assert [event async for event in events][-1] == Died(5, None)


@pytest.mark.contract("I2")
async def test_a_text_that_tmux_was_not_handed_was_certainly_not_pasted(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording.terminal, "_tmux", replace(recording.terminal._tmux, executable="/nonexistent"))

    with pytest.raises(TmuxCommandFailed, match="load-buffer"):
        await recording.terminal.paste(recording.pane, "lost" * LONGEST_WORD)
    monkeypatch.undo()
    await recording.terminal.paste(recording.pane, "kept")

    assert b"lost" not in await recording.until(len("\x1b[200~kept\x1b[201~"))


@pytest.mark.contract("I3")
async def test_a_text_of_a_few_pages_is_pasted_without_another_process(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording.terminal, "_tmux", replace(recording.terminal._tmux, executable="/nonexistent"))
    text = "".join(map(chr, (*range(1, 0x250), *range(0x4E00, 0x9000))))[:LONGEST_WORD]
    assert len(text) == LONGEST_WORD

    await recording.terminal.paste(recording.pane, text)
    expected = BEGIN + text.encode() + END
    assert await recording.until(len(expected)) == expected
