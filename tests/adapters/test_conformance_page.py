"""The table on the page about providers is what the command prints."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mcp_agent.cli.main import app

PAGE = Path(__file__).parents[2] / "docs/adapters.md"
TABLE = re.compile(r"<!-- conformance: begin -->\n\n(.*?)\n\n<!-- conformance: end -->", re.DOTALL)


@pytest.mark.contract("X3")
def test_the_table_of_questions_is_what_the_command_prints() -> None:
    printed = CliRunner().invoke(app, ["test", "adapter-conformance", "--markdown"])
    (table,) = TABLE.findall(PAGE.read_text(encoding="utf-8"))

    assert printed.exit_code == 0
    assert table.strip() == printed.stdout.strip()


def test_a_run_needs_a_provider() -> None:
    refused = CliRunner().invoke(app, ["test", "adapter-conformance"])

    assert refused.exit_code == 2
    assert "--provider ID" in refused.stderr
