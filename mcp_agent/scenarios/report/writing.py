"""The files of a report: one run, written in every format."""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from mcp_agent.errors import SecretInReport, UsageError
from mcp_agent.scenarios.report.asciicast import asciicast
from mcp_agent.scenarios.report.html import page
from mcp_agent.scenarios.report.json_form import json_form
from mcp_agent.scenarios.report.junit import junit
from mcp_agent.scenarios.report.masking import SHORTEST, masked
from mcp_agent.scenarios.report.record import Run

PAGE, JSON, JUNIT = "index.html", "report.json", "junit.xml"


def write_report(run: Run, directory: Path, *, secrets: Iterable[str]) -> Path:
    """Write all files, without the secrets, and return the page. Files of an earlier run are replaced.

    Raises `UsageError` when the directory cannot be written, and `SecretInReport`, before it writes anything, when a
    secret would stand in a file all the same.
    """
    secrets = {secret for secret in secrets if len(secret) >= SHORTEST}
    files = rendered(masked(run, secrets))
    if leaking := [name for name, content in files.items() if any(secret in content for secret in secrets)]:
        raise SecretInReport(leaking)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            _write(directory / name, content)
    except OSError as error:
        raise UsageError(
            f"--report {directory}: {error.strerror or error}; name a directory that can be written"
        ) from error
    return directory / PAGE


def rendered(run: Run) -> Mapping[str, str]:
    """The text of every file by its name."""
    return {PAGE: page(run), JSON: json_form(run), JUNIT: junit(run), **dict(_casts(run))}


def _casts(run: Run) -> Iterator[tuple[str, str]]:
    began = run.began_at
    for provider in run.providers:
        if provider.frames:
            yield f"{provider.provider}.cast", asciicast(provider, began_at=began)
        began += timedelta(seconds=provider.elapsed_seconds)


def _write(path: Path, content: str) -> None:
    """A reader sees the old file or the new one, never half of it."""
    half = path.with_name(f".{path.name}.{os.getpid()}")
    half.write_bytes(content.encode("utf-8", "replace"))
    half.replace(path)
