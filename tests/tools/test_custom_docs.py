"""The example of docs/custom-tools.md works as the page says."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_agent.tools.custom import CallContext, CustomTool, ToolRefused, Verdict
from mcp_agent.tools.custom_loading import load_custom_tools

PAGE = Path(__file__).parents[2] / "docs/custom-tools.md"
NAME = "my_tools"

pytestmark = pytest.mark.anyio


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / f"{NAME}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    loaded = load_custom_tools([NAME])
    assert loaded.problems == []
    yield loaded.tools
    del sys.modules[NAME]


@pytest.fixture
def context(tmp_path: Path) -> CallContext:
    return CallContext("call_1", "s-1", tmp_path / "call_1", tmp_path, {}, None)


async def run(tool: CustomTool[..., Any], context: CallContext, **arguments: object) -> str:
    with anyio.fail_after(30):
        return (await tool.run(context, tool.validate(arguments))).text


async def test_words_are_counted(tools: dict[str, Any], context: CallContext) -> None:
    counted = await run(tools["count_words"], context, text="a bc def", longer_than=1)

    assert counted == '{"words": 2, "letters": 5}'


async def test_a_draft_is_published_and_its_check_finds_it(
    tools: dict[str, Any], context: CallContext, tmp_path: Path
) -> None:
    publish = tools["publish"]
    (tmp_path / "news.draft").touch()
    arguments = publish.validate({"name": "news"})

    assert await publish.check("call_0", context, arguments) == Verdict("did_not_happen")
    assert await run(publish, context, name="news") == str(tmp_path / "news.published")
    assert await publish.check("call_1", context, arguments) == Verdict("happened")


async def test_a_missing_draft_is_refused(tools: dict[str, Any], context: CallContext) -> None:
    with pytest.raises(ToolRefused, match=r"there is no draft news\.draft"):
        await run(tools["publish"], context, name="news")
