"""Finding adapters by their entry points."""

import sys
from pathlib import Path

import pytest

from mcp_agent import registry
from mcp_agent.errors import BadConfiguration, UnknownAdapter

MODULES = {
    "good": "class Adapter:\n    id = 'good-one'\nADAPTER = Adapter()\n",
    "broken": "raise RuntimeError('no\\nluck')\n",
    "liar": "class Adapter:\n    id = 'somebody-else'\nADAPTER = Adapter()\n",
}


@pytest.fixture(autouse=True)
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution, as a package manager installs it, with one good adapter and four unusable ones."""
    for name, source in MODULES.items():
        (tmp_path / f"registry_{name}.py").write_text(source)
    metadata = tmp_path / "registry_fakes-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: registry-fakes\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[mcp_agent.adapters]\n"
        "good-one = registry_good:ADAPTER\n"
        "broken-one = registry_broken:ADAPTER\n"
        "lying-one = registry_liar:ADAPTER\n"
        "missing-module = registry_nowhere:ADAPTER\n"
        "missing-object = registry_good:NOTHING\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, f"registry_{name}", raising=False)


def test_installed_adapters_are_named_without_being_imported() -> None:
    names = registry.installed()
    assert {"good-one", "broken-one"} <= set(names)
    assert list(names) == sorted(names)
    assert not {name for name in sys.modules if name.startswith("registry_")}


def test_an_adapter_is_loaded_by_its_id() -> None:
    assert registry.load("good-one").id == "good-one"


def test_an_unknown_id_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownAdapter) as caught:
        registry.load("good")
    assert caught.value.exit_code == 2
    assert "good-one" in caught.value.installed
    assert "known: " in str(caught.value)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("broken-one", "cannot be loaded: RuntimeError: no luck"),
        ("missing-module", "cannot be loaded: ModuleNotFoundError"),
        ("missing-object", "cannot be loaded: AttributeError"),
        ("lying-one", "is no adapter with the id 'lying-one'"),
    ],
)
def test_an_adapter_that_cannot_be_used_is_refused_in_one_line(name: str, problem: str) -> None:
    with pytest.raises(BadConfiguration, match=problem) as caught:
        registry.load(name)
    assert str(caught.value).startswith(f"adapter {name}: ")
    assert "\n" not in str(caught.value)


def test_loading_all_stops_at_one_that_cannot_be_used() -> None:
    with pytest.raises(BadConfiguration, match="adapter broken-one"):
        registry.load_all()
