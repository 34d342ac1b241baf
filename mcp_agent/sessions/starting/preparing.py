"""Commands that a CLI needs run before it is launched, such as the approval of the bridge among its servers."""

import logging
import subprocess
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import anyio

log = logging.getLogger(__name__)

ENDS_WITHIN = timedelta(seconds=30)


async def run_all(commands: Sequence[Sequence[str]], *, environment: Mapping[str, str], directory: Path) -> None:
    """Run each to its end, or to the limit. What fails is logged: the CLI will show what it lacks."""
    for command in commands:
        problem = await _problem(command, environment=environment, directory=directory)
        if problem is not None:
            log.warning("`%s` in %s %s", " ".join(command), directory, problem)


async def _problem(command: Sequence[str], *, environment: Mapping[str, str], directory: Path) -> str | None:
    try:
        with anyio.fail_after(ENDS_WITHIN.total_seconds()):
            async with await anyio.open_process(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd=directory,
            ) as process:
                status = await process.wait()
    except TimeoutError:
        return f"did not end within {ENDS_WITHIN.seconds} s"
    except OSError as error:
        return f"does not start: {error.strerror or error}"
    return f"failed with status {status}" if status else None
