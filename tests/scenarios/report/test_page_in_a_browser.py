"""The page as people see it, in a real browser: on a phone and on a desk, by day and by night."""

import os
from pathlib import Path
from typing import Any

import pytest

from mcp_agent.scenarios.report.record import Run
from mcp_agent.scenarios.report.writing import write_report
from tests.scenarios.report.chromium import Chromium, Page

SCREENSHOTS = "MCP_AGENT_SCREENSHOTS"
"""Names a directory in which pictures of the page are kept."""
BUILD = Path(__file__).parents[3] / "build/screenshots"

WIDTHS, SCHEMES = (400, 1280), ("light", "dark")

OPEN_ALL = "document.querySelectorAll('details').forEach(each => each.open = true)"
# A phone zooms out to show what is too wide, and then says that its window is wider too.
TOO_WIDE = """
[...document.querySelectorAll('body *')].filter(each => !each.closest('.screen') && !each.closest('.aloud')
  && each.getBoundingClientRect().right > WIDTH + 0.5).map(each => each.outerHTML.slice(0, 120))
"""
UNSEEN_PROBES = """
[...document.querySelectorAll('.probe > summary')].filter(each => {
  const box = each.getBoundingClientRect(); return box.width < 100 || box.height < 40;
}).map(each => each.textContent)
"""
FAINT = """
(() => {
  const channel = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = each => {
    for (; each; each = each.parentElement) {
      const colour = numbers(getComputedStyle(each).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const each = node.parentElement;
    if (!node.textContent.trim() || each.closest('svg')) continue;
    const [high, low] = [light(numbers(getComputedStyle(each).color)), light(ground(each))].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) found.push([ratio.toFixed(2), each.className, node.textContent.slice(0, 40)]);
  }
  return found;
})()
"""


@pytest.fixture(
    params=[(width, scheme) for width in WIDTHS for scheme in SCHEMES], ids=lambda each: f"{each[0]}-{each[1]}"
)
def page(request: pytest.FixtureRequest, browser: Chromium, run: Run, tmp_path: Path) -> Page:
    width, scheme = request.param
    shown = Page(browser, write_report(run, tmp_path / "a report", secrets=()), width=width, scheme=scheme)
    kept = Path(os.environ.get(SCREENSHOTS, BUILD))
    kept.mkdir(parents=True, exist_ok=True)
    shown.screenshot(kept / f"report-{width}-{scheme}.png")
    return shown


@pytest.mark.contract("X4")
@pytest.mark.timeout(600)
def test_the_page_fits_is_readable_shows_all_probes_and_asks_nobody_for_anything(page: Page) -> None:
    assert page.evaluate("document.querySelectorAll('.probe').length") == 7
    for state in ("folded", "open"):
        assert page.evaluate("document.documentElement.scrollWidth") == page.width, state
        assert page.evaluate(TOO_WIDE.replace("WIDTH", str(page.width))) == [], state
        assert page.evaluate(UNSEEN_PROBES) == [], state
        assert page.evaluate(FAINT) == [], state
        page.evaluate(OPEN_ALL)
    assert [url.partition("?")[0].rpartition("/")[2] for url in page.requests] == ["index.html"]
    assert page.complaints == []


@pytest.mark.contract("X4")
@pytest.mark.timeout(600)
def test_a_phone_shows_the_result_and_what_to_do_without_scrolling(browser: Chromium, run: Run, tmp_path: Path) -> None:
    shown = Page(browser, write_report(run, tmp_path, secrets=()), width=400, scheme="dark")
    seen: Any = shown.evaluate(
        "['h1', '.todo'].map(each => document.querySelector(each).getBoundingClientRect().bottom)"
    )
    assert all(bottom < 700 for bottom in seen)


@pytest.mark.contract("X4")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("width", WIDTHS)
def test_letters_of_a_screen_are_large_enough_to_read(browser: Chromium, run: Run, tmp_path: Path, width: int) -> None:
    shown = Page(browser, write_report(run, tmp_path, secrets=()), width=width, scheme="light")
    height = shown.evaluate("document.querySelector('.probe[open] svg text').getBoundingClientRect().height")
    assert height >= 9


@pytest.mark.contract("X4")
@pytest.mark.timeout(600)
def test_light_and_dark_follow_the_reader(browser: Chromium, run: Run, tmp_path: Path) -> None:
    file = write_report(run, tmp_path, secrets=())
    grounds = [
        Page(browser, file, width=400, scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in SCHEMES
    ]
    assert len(set(grounds)) == 2
