"""Commands that are run before a CLI is launched: to their end, bounded, and never in the way."""

import logging
import os
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_agent.sessions.starting import preparing

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def shell(line: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", line)


async def test_they_run_in_order_in_the_sessions_place(tmp_path: Path) -> None:
    commands = [shell('printf "%s " "$WHO" >> told'), shell("pwd >> told")]
    await preparing.run_all(commands, environment={"WHO": "me"}, directory=tmp_path)

    assert (tmp_path / "told").read_text() == f"me {tmp_path}\n"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (shell("exit 3"), "failed with status 3"),
        (("/nowhere/program",), "does not start"),
        (shell("sleep 60"), "did not"),
    ],
)
async def test_one_that_fails_is_said_and_the_next_one_runs(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    problem: str,
) -> None:
    monkeypatch.setattr(preparing, "ENDS_WITHIN", timedelta(seconds=1))
    with caplog.at_level(logging.WARNING):
        await preparing.run_all([command, shell("touch next")], environment=dict(os.environ), directory=tmp_path)

    assert problem in caplog.text
    assert (tmp_path / "next").exists()
