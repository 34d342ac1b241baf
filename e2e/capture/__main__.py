"""Takes the screens of a real CLI anew, against a scripted model on loopback.

    python -m e2e.capture claude-code [--columns 60 80 200] [--scene turns …] [--into DIRECTORY]

Every scene runs the pinned program in a home and a tmux of its own, with a key that opens nothing. A scene that does
not come to its screen says what it saw, and the others go on.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from e2e.capture.model import serve
from e2e.capture.scene import Scene
from e2e.capture.stage import PROJECT, NeverShown, stage
from mcp_agent import registry

SCREENS = PROJECT / "tests/adapters/screens"
ROOT = Path("/var/tmp/agent-screens")
"""The same for every run, since paths stand on screens; not below /tmp, which one CLI warns of. It must not exist."""


async def main(provider: str, *, columns: Sequence[int], names: Sequence[str], into: Path) -> int:
    found: Sequence[Scene] = importlib.import_module(f"e2e.capture.{provider.replace('-', '_')}").SCENES
    chosen = [scene for scene in found if not names or scene.__name__ in names]
    missed = [
        f"{scene.__name__}: {why}"
        for scene in chosen
        for width in columns
        if (why := await _play(provider, scene, columns=width, into=into))
    ]
    sys.stderr.write("\n".join(missed) + "\n" if missed else "")
    return min(len(missed), 1)


async def _play(provider: str, scene: Scene, *, columns: int, into: Path) -> str | None:
    """Why a scene did not come to its end; None when it did."""
    failed = None
    async with serve() as model, stage(ROOT, registry.load(provider), model, columns=columns, into=into) as found:
        try:
            await scene(found)
        except (NeverShown, TimeoutError) as problem:
            failed = str(problem)
        sys.stdout.write(f"{scene.__name__} at {columns}: {'missed' if failed else 'kept'}\n")
        sys.stdout.flush()
    return failed


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m e2e.capture", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("provider")
    parser.add_argument("--columns", type=int, nargs="+", default=[60, 80, 200])
    parser.add_argument("--scene", nargs="+", default=[], help="only these; all of them without it")
    parser.add_argument("--into", type=Path, help="default: the kept screens of the provider")
    return parser.parse_args()


if __name__ == "__main__":
    asked = arguments()
    target = asked.into or SCREENS / asked.provider
    sys.exit(anyio.run(lambda: main(asked.provider, columns=asked.columns, names=asked.scene, into=target)))
