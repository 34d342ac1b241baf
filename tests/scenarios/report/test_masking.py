"""No secret is in any file of a report: not whole, not in pieces, not behind a change of style."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.scenarios.report.masking import MARK, PIECE, masked
from mcp_agent.scenarios.report.record import Frame, Run
from mcp_agent.scenarios.report.writing import JSON, JUNIT, PAGE, write_report
from mcp_agent.scenarios.results import ProbeResult, Result

SECRET = "Zt4vQ8mX1LpR7sYw2NcK9hBd"
FAKE_KEY, OWNER_TOKEN = "sk-fake-3f9a1c77b2e84d10", "o7Hq2Wn5Jx8Vb3Tz6Mf1Ls4P"
SECRETS = (FAKE_KEY, SECRET, OWNER_TOKEN)


def pieces(secret: str) -> list[str]:
    return [secret[at : at + PIECE] for at in range(len(secret) - PIECE + 1)]


@pytest.mark.contract("X4", "A2")
def test_no_file_of_a_report_shows_a_piece_of_a_secret(leaky: Run, tmp_path: Path) -> None:
    write_report(leaky, tmp_path, secrets=SECRETS)
    files = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    assert set(files) == {PAGE, JSON, JUNIT, "agent.cast"}
    found = [
        (name, piece) for name, text in files.items() for each in SECRETS for piece in pieces(each) if piece in text
    ]
    assert found == []
    assert all(MARK in text or "\\u2022" in text for text in files.values())


@pytest.mark.contract("X4")
def test_without_masking_the_same_files_would_show_them(leaky: Run, tmp_path: Path) -> None:
    write_report(leaky, tmp_path, secrets=())
    assert all(SECRET in file.read_text(encoding="utf-8") for file in tmp_path.iterdir())


@given(before=st.text(max_size=20), after=st.text(max_size=20), cut=st.integers(0, len(SECRET)))
def test_a_line_keeps_its_length_and_its_styles_wherever_the_style_changes(before: str, after: str, cut: int) -> None:
    line = f"{before}\x1b[1m{SECRET[:cut]}\x1b[0m{SECRET[cut:]}{after}"
    (shown,) = masked(Frame(0.0, 80, 24, (line,)), [SECRET]).lines
    assert len(shown) == len(line)
    assert SECRET not in shown.replace("\x1b[0m", "")
    assert "\x1b[1m" in shown


@pytest.mark.parametrize("text", ["sk-live-aaaaaaaaaaaaaaaa", "ghp_abcdefghijklmnop", "Bearer abcdefgh12345"])
def test_what_looks_like_a_key_is_masked_though_nobody_named_it(text: str) -> None:
    assert text.split("-")[-1].removeprefix("Bearer ") not in masked(text, [])


def test_short_values_and_other_types_stay_as_they_are() -> None:
    result = ProbeResult("yes", Result.PASSED, None, 1.5, {"n": 3, "list": ["no", None]})
    assert masked(result, ["yes", "no", "passed"]) == result
    assert masked(Result.NOT_RUN, ["not run"]) is Result.NOT_RUN
