"""The parts of the suite: what is planted and compared, how a screen is turned around, and the table of questions."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from adapters.scripted import Scripted
from mcp_agent.adapter import Capability
from mcp_agent.scenarios.conformance.asked.dialogs import turn_around
from mcp_agent.scenarios.conformance.capabilities import lacking
from mcp_agent.scenarios.conformance.matrix import matrix
from mcp_agent.scenarios.conformance.questions import ASKED, DESCRIBED
from mcp_agent.scenarios.conformance.results import Answer
from mcp_agent.scenarios.conformance.user_files import differences, plant, strangers
from mcp_agent.scenarios.results import Result

pytestmark = pytest.mark.contract("X3")


class Costless(Scripted):
    lacks: Mapping[Capability, str] = MappingProxyType({Capability.USAGE: "it never says"})


def test_an_answer_as_json_says_what_it_proves_and_what_was_lacking() -> None:
    told = Answer("usage", Result.SKIPPED, "why", 0.0, proves="It counts.", lacks=Capability.USAGE).as_json()

    assert told == {
        "name": "usage",
        "result": "skipped",
        "reason": "why",
        "elapsed_seconds": 0.0,
        "evidence": {},
        "proves": "It counts.",
        "lacks": "usage",
    }


def test_options_are_turned_around_and_everything_else_stays() -> None:
    lines = ["Trust this folder?", "❯ 1. Trust", "  2. Trust nothing, and leave", " │ [a] No │", "Enter to confirm"]

    assert turn_around(lines, ("Trust", "No")) == [
        "Trust this folder?",
        "❯ 1. No",
        "  2. Trust nothing, and leave",
        " │ [a] Trust │",
        "Enter to confirm",
    ]


class Configured(Scripted):
    user_files: Mapping[str, str] = MappingProxyType({"~/.cli/config": "# mine\r\n", "./.cli/config": "x"})


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    return home, work


def test_planted_files_are_the_adapters_behind_links_and_with_an_odd_mode(place: tuple[Path, Path]) -> None:
    home, work = place
    planted = plant(Configured(), home=home, directories=[work])

    assert {path.relative_to(home.parent) for path in planted} == {
        Path("home/.cli/config"),
        Path("work/.cli/config"),
        Path("work/notes.txt"),
    }
    assert (home / ".cli/config").is_symlink()
    assert (home / ".cli/config").read_bytes() == b"# mine\r\n"
    assert (work / ".cli/config").stat().st_mode & 0o777 == 0o640
    assert (differences(planted), strangers(planted, [work])) == ([], [])


def test_every_change_of_a_planted_file_is_found(place: tuple[Path, Path]) -> None:
    home, work = place
    planted = plant(Configured(), home=home, directories=[work])
    real = (home / ".cli/config").readlink()
    (home / ".cli/config").unlink()
    real.rename(home / ".cli/config")
    (work / ".cli/config").chmod(0o600)
    (work / "notes.txt").unlink()
    (work / "more").write_text("")

    assert differences(planted) == [
        f"{work / 'notes.txt'}: No such file or directory",
        f"{home / '.cli/config'}: its leads_to changed",
        f"{work / '.cli/config'}: its mode changed",
    ]
    assert strangers(planted, [work]) == [str(work / "more")]


def test_the_matrix_has_a_row_for_each_question_and_says_what_is_lacking() -> None:
    adapter = Costless()
    rows = matrix([Scripted(), adapter]).splitlines()

    assert rows[0] == "| question | what it proves | Scripted agent | Scripted agent |"
    assert sum(row.startswith("| ") for row in rows) == 2 + len(DESCRIBED) + len(ASKED)
    assert next(row for row in rows if row.startswith("| usage |")).endswith("| yes | – |")
    assert [row for row in rows if row.startswith("- ")] == [
        f"- Scripted agent lacks {need}: {reason}" for need, reason in lacking(adapter).items()
    ]


def test_every_question_has_a_name_of_its_own_and_says_what_it_proves() -> None:
    told = [
        *((question.name, question.proves) for question in DESCRIBED),
        *((question.name, question.proves) for question in ASKED),
    ]

    assert len({name for name, _ in told}) == len(told)
    assert all(proves.endswith(".") for _, proves in told)
