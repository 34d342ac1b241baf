"""The directories that a person said may be trusted."""

import json
import os
from pathlib import Path


def is_trusted(record: Path, directory: Path) -> bool:
    return str(directory) in _read(record)


def remember(record: Path, directory: Path) -> None:
    """Adds a directory, atomically."""
    record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = record.with_name(f"{record.name}.{os.getpid()}")
    draft.write_text(json.dumps(sorted({*_read(record), str(directory)})), encoding="utf-8")
    draft.replace(record)


def _read(record: Path) -> list[str]:
    try:
        trusted = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [str(entry) for entry in trusted] if isinstance(trusted, list) else []
