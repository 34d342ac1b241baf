"""The pages that are made from the code, or that repeat it, say what the code says."""

import json
import re
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adapters.scripted_agent.quirks import VARIABLE, Quirks
from mcp_agent import registry
from mcp_agent.adapter import Adapter
from mcp_agent.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md"))
ADAPTERS = [adapter for adapter in registry.load_all() if type(adapter).__module__.startswith("adapters.")]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


@pytest.mark.contract("T1")
def test_the_timeouts_page_is_what_the_command_prints() -> None:
    page = (ROOT / "docs/timeouts.md").read_text(encoding="utf-8")
    printed = CliRunner().invoke(app, ["timeouts", "--markdown"]).stdout
    assert page.split("\n\n", 2)[2].strip() == printed.strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_pinned_programs_are_the_tested_versions() -> None:
    pins = json.loads((ROOT / "e2e/toolchain/package.json").read_text(encoding="utf-8"))["dependencies"]
    tested = [version for adapter in ADAPTERS if adapter.package for version in adapter.tested_versions[-1:]]
    assert sorted(pins.values()) == sorted(tested)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.id)
def test_the_page_on_providers_says_what_the_adapter_says(adapter: Adapter) -> None:
    page = (ROOT / "docs/adapters.md").read_text(encoding="utf-8")
    overview, own = page.partition("\n## ")[0], _section(page, adapter.title)
    tested = ", ".join(adapter.tested_versions)
    row = f"| {adapter.title} | `{adapter.id}` | {tested} | ".replace("|  |", "| |")
    assert row in overview
    assert adapter.install_hint.replace("|", "\\|") in overview

    setting = adapter.mcp_timeout(timedelta(minutes=90))
    told = [*adapter.permission_modes, *([setting.setting] if setting else [])]
    assert [word for word in told if word not in own] == []
    seen = "Not verified" if adapter.unverified else "Observed on {}"
    assert all(seen.format(version) in own for version in adapter.tested_versions[-1:])


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.id)
def test_the_readme_names_each_provider_and_its_tested_version(adapter: Adapter) -> None:
    own = " ".join(_section((ROOT / "README.md").read_text(encoding="utf-8"), "Providers").split())
    assert f"`{adapter.id}`" in own
    assert all(version in own for version in adapter.tested_versions)


def test_the_page_on_providers_names_every_quirk_of_the_scripted_agent() -> None:
    own = _section((ROOT / "docs/adapters.md").read_text(encoding="utf-8"), "Scripted agent")
    assert VARIABLE in own
    assert [quirk.name for quirk in fields(Quirks) if f"`{quirk.name}`" not in own] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_names_a_registrys_host(page: Path) -> None:
    assert re.findall(r"registry\.[a-z.]+|pypi\.org", page.read_text(encoding="utf-8")) == []


def _section(page: str, title: str) -> str:
    return page.split(f"\n## {title}\n", 1)[1].partition("\n## ")[0]
