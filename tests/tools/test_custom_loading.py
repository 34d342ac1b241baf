"""Finding the user's tools: what is broken is told in one line, and costs only itself."""

import importlib
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_agent.tools.custom_loading import Loaded, load_custom_tools

TOOL = "from mcp_agent.tools.custom import tool\n\n@tool\ndef {name}() -> str: return __name__\n"


class Site:
    """A place where modules are installed, on `sys.path` for one test."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def module(self, name: str, source: str) -> None:
        path = self.path.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
        importlib.invalidate_caches()

    def entry_points(self, *lines: str) -> None:
        metadata = self.path / "users_tools-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: users-tools\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text("\n".join(["[mcp_agent.tools]", *lines]))
        importlib.invalidate_caches()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield Site(tmp_path)
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_nothing_installed_and_nothing_configured_is_no_problem() -> None:
    assert load_custom_tools() == Loaded()


def test_tools_come_from_entry_points_and_from_configured_modules(site: Site) -> None:
    site.module("words", TOOL.format(name="count") + "\n@tool\ndef sort() -> str: return ''\n")
    site.module("more.letters", TOOL.format(name="spell") + "\n@tool\ndef unused() -> str: return ''\n")
    site.module("plain", "def shout(text: str) -> str:\n    return text.upper()\n")
    site.entry_points("words = words", "shout = plain:shout")

    loaded = load_custom_tools(["more.letters:spell", "words"])

    assert sorted(loaded.tools) == ["count", "shout", "sort", "spell"]
    assert {tool.category for tool in loaded.tools.values()} == {"custom"}
    assert loaded.problems == []


BROKEN = {
    "raises": ("raise LookupError('no\\nsuch table')", "cannot be imported: LookupError: no such table"),
    "exits": ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
    "interrupts": ("raise KeyboardInterrupt", "cannot be imported: KeyboardInterrupt:"),
    "misspelt": ("def tool(:", "cannot be imported: SyntaxError: "),
    "needy": ("import not_installed_anywhere", "cannot be imported: ModuleNotFoundError: No module named"),
    "unhinted": (TOOL.format(name="f").replace("f()", "f(x)"), "tool f: the parameter x has no type hint"),
    "nothing": ("ANSWER = 42", "has no tool; mark its functions with @tool"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_module_is_one_line_and_costs_only_itself(site: Site, name: str) -> None:
    source, problem = BROKEN[name]
    site.module(name, source)
    site.module("words", TOOL.format(name="count"))

    loaded = load_custom_tools([name, "words"])

    assert list(loaded.tools) == ["count"]
    (told,) = loaded.problems
    assert told.startswith(f"[tools] modules: {name}: {problem}")
    assert "\n" not in told


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "no name of a Python module"),
        ("../words.py", "no name of a Python module"),
        ("words:count:x", "no name of a Python module"),
        ("missing", "cannot be imported: ModuleNotFoundError"),
        ("words:missing", "cannot be imported: AttributeError"),
        ("words:ANSWER", "has no tool"),
    ],
)
def test_a_name_that_leads_nowhere_is_a_problem(site: Site, value: str, problem: str) -> None:
    site.module("words", "ANSWER = 42")

    (told,) = load_custom_tools([value]).problems

    assert told.startswith(f"[tools] modules: {value}: {problem}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A directory that is not on `sys.path`."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield Site(tmp_path)
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_module_is_found_in_a_configured_directory(folder: Site) -> None:
    folder.module("loose", TOOL.format(name="count"))

    loaded = load_custom_tools(["loose"], paths=[folder.path, folder.path])

    assert (list(loaded.tools), loaded.problems) == (["count"], [])
    assert sys.path.count(str(folder.path)) == 1


def test_a_module_in_a_configured_directory_hides_none_that_is_installed(folder: Site) -> None:
    folder.module("wave", TOOL.format(name="count"))

    (told,) = load_custom_tools(["wave"], paths=[folder.path]).problems

    assert told.startswith("[tools] modules: wave: has no tool")


def test_a_configured_directory_that_cannot_be_read_is_a_problem_and_costs_only_itself(folder: Site) -> None:
    folder.module("loose", TOOL.format(name="count"))

    loaded = load_custom_tools(["loose"], paths=[folder.path / "gone", folder.path / "loose.py", folder.path])

    assert list(loaded.tools) == ["count"]
    assert loaded.problems == [
        f"[tools] paths: {folder.path}/gone: No such file or directory",
        f"[tools] paths: {folder.path}/loose.py: Not a directory",
    ]


def test_of_two_tools_with_one_name_the_first_stays_and_the_other_is_a_problem(site: Site) -> None:
    site.module("first", TOOL.format(name="count"))
    site.module("second", TOOL.format(name="count") + "\n@tool\ndef sort() -> str: return ''\n")

    loaded = load_custom_tools(["first", "second"])

    assert sorted(loaded.tools) == ["count", "sort"]
    assert loaded.problems == ["[tools] modules: second: [tools] modules: first already has a tool 'count'"]


def test_a_tool_cannot_take_the_name_of_one_of_our_own(site: Site) -> None:
    site.module("words", TOOL.format(name="execute_shell_command") + "\n@tool\ndef sort() -> str: return ''\n")

    loaded = load_custom_tools(["words"], taken={"execute_shell_command"})

    assert list(loaded.tools) == ["sort"]
    assert loaded.problems == ["[tools] modules: words: mcp-agent itself already has a tool 'execute_shell_command'"]


def test_a_tool_found_twice_is_no_problem(site: Site) -> None:
    site.module("words", TOOL.format(name="count") + "\nalias = count\n")
    site.module("everything", "from words import count")

    loaded = load_custom_tools(["words", "everything", "words:count"])

    assert (list(loaded.tools), loaded.problems) == (["count"], [])


def test_a_module_that_hangs_is_a_problem_and_the_others_are_loaded(site: Site) -> None:
    site.module("hangs", "import threading; released = threading.Event(); released.wait()")
    site.module("words", TOOL.format(name="count"))

    loaded = load_custom_tools(["hangs", "words"], within=timedelta(seconds=1))
    sys.modules["hangs"].released.set()

    assert list(loaded.tools) == ["count"]
    assert loaded.problems == ["[tools] modules: hangs: its import takes longer than 1 s"]


def test_what_a_module_prints_at_import_is_harmless(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.module("words", "print('hello')\n" + TOOL.format(name="count"))

    assert list(load_custom_tools(["words"]).tools) == ["count"]
    assert capfd.readouterr().out == "hello\n"
