"""A server that is killed with `kill -9` loses no call and runs none twice; the bridges bring it back."""

import json
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import psutil
import pytest

from e2e.bridges import SHELL, Answer, Bridge, bridges
from e2e.fifo import Fifo
from e2e.place import Place

DIES_WITHIN_SECONDS = 20

pytestmark = pytest.mark.contract("W6", "B2")


@dataclass(frozen=True)
class Commands:
    """Silent commands, each with a file of its own for its start and its end. All of them end when `end_all` says."""

    directory: Path
    told: Fifo
    silence: Fifo
    texts: list[str] = field(default_factory=list)

    @classmethod
    @contextmanager
    def below(cls, directory: Path, number: int) -> Iterator["Commands"]:
        with Fifo.at(directory / "told") as told, Fifo.at(directory / "silence") as silence:
            commands = cls(directory, told, silence)
            commands.texts.extend(commands._text(each) for each in range(number))
            yield commands

    def wait_until_all_run(self) -> None:
        assert Counter(self.told.lines(len(self.texts))) == Counter(f"runs {each}" for each in range(len(self.texts)))

    def end_all(self) -> None:
        """Let them end, and wait until their last lines are written."""
        self.silence.close()
        assert Counter(self.told.lines(len(self.texts))) == Counter(f"ends {each}" for each in range(len(self.texts)))

    def written(self) -> list[str]:
        """What each of them wrote to its file."""
        return [self._file(each).read_text(encoding="utf-8") for each in range(len(self.texts))]

    def _text(self, each: int) -> str:
        return (
            f"exec 3<{self.silence.path}; echo start >>{self._file(each)}; echo runs {each} >{self.told.path};"
            f" cat <&3; echo end >>{self._file(each)}; echo OUTPUT_{each}; echo ends {each} >{self.told.path}"
        )

    def _file(self, each: int) -> Path:
        return self.directory / f"written-{each}"


@pytest.mark.contract("W7", "W8", "W10")
@pytest.mark.parametrize("number", [5, pytest.param(20, marks=pytest.mark.long)])
def test_every_call_of_a_killed_server_is_accounted_for_and_none_is_lost_or_run_twice(
    place: Place, number: int
) -> None:
    session = start(place)
    with Commands.below(place.root, number) as commands, bridges(place, session, number) as many:
        lost = lose(place, many, commands)
        for earlier, answer in zip(lost, call_all(many, commands), strict=True):
            assert_gated(answer, earlier)
        assert commands.written() == ["start\n"] * number
        commands.end_all()
        ended = [bridge.ask("wait_tool_call", call_id=call_id) for bridge, call_id in zip(many, lost, strict=True)]
        for each, answer in enumerate(ended):
            assert_late_success(answer)
            page = many[each].ask("get_tool_output", call_id=lost[each]).structured or {}
            assert page["text"] == f"OUTPUT_{each}\n"
        assert commands.written() == ["start\nend\n"] * number
        assert_all_on_record(place, session, lost)
    assert_nothing_left(place)


@pytest.mark.contract("W8")
def test_a_command_that_ended_while_no_server_ran_is_told_of_before_an_identical_one_may_run(place: Place) -> None:
    session = start(place)
    with Commands.below(place.root, 3) as commands, bridges(place, session, 3) as many:
        lost = lose(place, many, commands)
        commands.end_all()
        for earlier, answer in zip(lost, call_all(many, commands), strict=True):
            assert_gated(answer, earlier)
            assert_late_success(many[0].ask("wait_tool_call", call_id=earlier))
        assert commands.written() == ["start\nend\n"] * 3
    assert_nothing_left(place)


@pytest.mark.contract("W9")
def test_a_call_that_was_looked_for_is_still_followed_after_another_crash(place: Place) -> None:
    session = start(place)
    with Commands.below(place.root, 2) as commands, bridges(place, session, 2) as many:
        lost = lose(place, many, commands)
        for earlier, answer in zip(lost, call_all(many, commands), strict=True):
            assert_gated(answer, earlier)
        kill_server(place)
        assert [bridge.ask("get_tool_call", call_id=lost[0]).text for bridge in many]
        commands.end_all()
        for bridge, call_id in zip(many, lost, strict=True):
            assert_late_success(bridge.ask("wait_tool_call", call_id=call_id))
        assert commands.written() == ["start\nend\n"] * 2
    assert_nothing_left(place)


@pytest.mark.contract("C5", "W6")
def test_a_stopped_session_ends_what_an_earlier_server_started(place: Place) -> None:
    session = start(place)
    with Commands.below(place.root, 3) as commands, bridges(place, session, 3) as many:
        lost = lose(place, many, commands)
        assert place.run("session", "stop", session).status == 0
        calls = records(place)
        assert {
            call_id: (calls[call_id]["why_ended"], calls[call_id]["happened"]) for call_id in lost
        } == dict.fromkeys(lost, ("runtime_lost", "cancelled"))
        assert commands.written() == ["start\n"] * 3
    assert_nothing_left(place)


@pytest.mark.contract("W8")
@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_who_follows_the_answers_runs_every_command_once_however_often_the_server_dies(
    place: Place, rounds: int
) -> None:
    session = start(place)
    files = [place.root / f"written-{each}" for each in range(4 * rounds)]
    with Fifo.at(place.root / "told") as told, bridges(place, session, 4) as many, ThreadPoolExecutor(4) as pool:
        commands = [f"echo run >>{file}; echo runs >{told.path}" for file in files]
        for each in range(0, len(commands), len(many)):
            followed = [pool.submit(follow, *pair) for pair in zip(many, commands[each:], strict=False)]
            told.lines(1 + each // len(many) % 3)
            kill_server(place)
            for one in followed:
                one.result()
    assert [file.read_text(encoding="utf-8") for file in files] == ["run\n"] * len(files)
    assert_nothing_left(place)


def follow(bridge: Bridge, command: str) -> None:
    """Do what the answers advise, until one of them says that the command has ended."""
    answer = bridge.ask(SHELL, command=command)
    while not has_ended(answer):
        if (answer.structured or {}).get("gated"):
            answer = bridge.ask("wait_tool_call", call_id=(answer.structured or {})["call_id"])
        else:
            answer = bridge.ask(SHELL, command=command)


def has_ended(answer: Answer) -> bool:
    facts = answer.structured or {}
    return "exit_status" in facts or "succeeded" in {facts.get("happened"), facts.get("outcome")}


def lose(place: Place, many: Sequence[Bridge], commands: Commands) -> list[str]:
    """Kill the server while all commands run; the ids of the calls, whose outcome every bridge calls unknown."""
    calls = [bridge.call(SHELL, command=text) for bridge, text in zip(many, commands.texts, strict=True)]
    commands.wait_until_all_run()
    kill_server(place)
    answers = [call.answer() for call in calls]
    assert all(" outcome=unknown: " in answer.text and "get_tool_call" in answer.text for answer in answers), answers
    call_ids = [answer.call_id for answer in answers]
    assert len(set(call_ids)) == len(calls)
    return call_ids


def call_all(many: Sequence[Bridge], commands: Commands) -> list[Answer]:
    """All calls at once, as they were made before."""
    calls = [bridge.call(SHELL, command=text) for bridge, text in zip(many, commands.texts, strict=True)]
    return [call.answer() for call in calls]


def kill_server(place: Place) -> None:
    server = psutil.Process(json.loads((place.state / "server.json").read_text(encoding="utf-8"))["pid"])
    assert "mcp_agent.server" in server.cmdline()
    server.send_signal(signal.SIGKILL)
    server.wait(DIES_WITHIN_SECONDS)


def assert_gated(answer: Answer, earlier: str) -> None:
    assert answer.text.startswith("This call was NOT run."), answer.text
    assert (answer.structured or {})["call_id"] == earlier


def assert_late_success(answer: Answer) -> None:
    facts = answer.structured or {}
    assert (facts["why_ended"], facts["happened"], facts["late"]) == ("runtime_lost", "succeeded", True)


def assert_all_on_record(place: Place, session: str, lost: Sequence[str]) -> None:
    calls = records(place)
    shell = [call for call in calls.values() if call["tool"] == SHELL]
    assert {call["session_id"] for call in calls.values()} == {session}
    assert Counter(call["tool"] for call in calls.values()) == {
        SHELL: 2 * len(lost),
        "wait_tool_call": len(lost),
        "get_tool_output": len(lost),
    }
    assert sorted(call_id for call_id, call in calls.items() if call["why_ended"] == "runtime_lost") == sorted(lost)
    gated = {call["gated_by"]: call["happened"] for call in shell if call["gated_by"]}
    assert gated == dict.fromkeys(lost, "not_started")


def records(place: Place) -> dict[str, dict[str, object]]:
    """Every call that is on record, by its id."""
    found = cast("list[dict[str, object]]", place.run("calls", "list", "--json").json["calls"])
    return {str(call["call_id"]): call for call in found}


def start(place: Place) -> str:
    done = place.run("session", "start", "-p", "scripted", "--trust")
    assert done.status == 0, done.err
    return done.out.strip()


def assert_nothing_left(place: Place) -> None:
    assert place.run("server", "stop", "--now").status == 0
    assert (place.processes(), place.files()) == ([], [])
