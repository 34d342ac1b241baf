"""The pages that are made from the code are those that the code makes."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mcp_agent.cli.main import app

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


@pytest.mark.contract("T1")
def test_the_timeouts_page_is_what_the_command_prints() -> None:
    page = (ROOT / "docs/timeouts.md").read_text(encoding="utf-8")
    printed = CliRunner().invoke(app, ["timeouts", "--markdown"]).stdout
    assert page.split("\n\n", 2)[2].strip() == printed.strip()


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: page.name
)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
