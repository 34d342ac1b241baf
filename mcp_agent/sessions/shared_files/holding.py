"""Who needs what in which shared file: an addition stands there while one session needs it, and not a moment longer.

A file that nobody else wrote meanwhile is put back as it was, byte for byte; from one that somebody did write only our
additions are taken. A file that does not parse is never written.
"""

import fcntl
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mcp_agent.adapter import SharedFileEdit
from mcp_agent.errors import BadConfiguration
from mcp_agent.sessions.shared_files import edits, files
from mcp_agent.sessions.shared_files.edits import Taken
from mcp_agent.sessions.shared_files.jsonc import NotJson
from mcp_agent.sessions.shared_files.record import Entry, Records, SharedFile, digest
from mcp_agent.state import StateDirectory

log = logging.getLogger(__name__)


def hold(state: StateDirectory, session_id: str, wanted: Sequence[SharedFileEdit]) -> None:
    """See to it that every addition stands in its file until `release`.

    Raises `BadConfiguration` for a file that cannot be read, parsed or written, or holds somebody else's value in the
    place of ours.
    """
    for path in dict.fromkeys(edit.path for edit in wanted):
        with _locked(state) as records:
            _hold(records, session_id, path, [edit for edit in wanted if edit.path == path])


def release(state: StateDirectory, session_id: str) -> None:
    """The session needs nothing any more. What cannot be undone now is tried again at the next start."""
    _release(state, lambda holder: holder != session_id)


def sweep(state: StateDirectory, *, lives: Callable[[str], bool]) -> None:
    """Undo what sessions left that are not there any more, as after a crash."""
    _release(state, lives)


def _hold(records: Records, session_id: str, path: Path, wanted: Iterable[SharedFileEdit]) -> None:
    found = files.find(path)
    record = _known(records, found)
    text = found.text if found.text and found.text.strip() else edits.EMPTY
    for edit in wanted:
        record, text = _add(record, text, edit, session_id)
    if not record.entries:
        return
    if text == found.text:
        records.save(record)
        return
    made = {*record.directories, *records.directories_above(path), *files.make_directories(path)}
    directories = tuple(sorted(made, key=lambda directory: len(directory.parts)))
    records.save(replace(record, directories=directories, written=(*record.written, digest(text))))
    files.replace(path, text)


def _known(records: Records, found: files.Found) -> SharedFile:
    """The record of a file as it is now: one that somebody took away has nothing to be put back."""
    record = records.get(found.path)
    if record is None or found.text is None:
        return SharedFile(found.path, found.text)
    return replace(record, changed=record.changed or digest(found.text) not in record.written)


def _add(record: SharedFile, text: str, edit: SharedFileEdit, session_id: str) -> tuple[SharedFile, str]:
    try:
        added = edits.add(text, edit.keys, edit.value, is_item=edit.is_item, yields=edit.yields)
    except NotJson as error:
        raise BadConfiguration(edit.path, f"{error}; it was left as it is") from error
    except Taken as error:
        raise BadConfiguration(edit.path, f"{error}: rename it there, or use another directory") from error
    if not added.is_ours:
        return record.holding(edit, session_id) or record, text
    entry = Entry(edit.keys, json.dumps(edit.value), edit.is_item, added.made, (session_id,))
    others = tuple(known for known in record.entries if not known.is_for(edit))
    return replace(record, entries=(*others, entry)), added.text


def _release(state: StateDirectory, needed: Callable[[str], bool]) -> None:
    if not Records(state).directory.is_dir():
        return
    with _locked(state) as records:
        for record in list(records.all()):
            holders = {holder for entry in record.entries for holder in entry.holders}
            left = record
            for holder in holders:
                left = left if needed(holder) else left.without(holder)
            if any(not entry.holders for entry in left.entries):
                _undo(records, left)
            elif left != record:
                records.save(left)


def _undo(records: Records, record: SharedFile) -> None:
    """Take out what nobody needs; what goes wrong is said, and kept for the next time."""
    kept = replace(record, entries=tuple(entry for entry in record.entries if entry.holders))
    records.save(record)
    try:
        found = files.find(record.path)
        changed = record.changed or (found.text is not None and digest(found.text) not in record.written)
        if found.text is not None:
            kept = _write(records, replace(record, changed=changed), kept, found.text)
    except (BadConfiguration, NotJson) as error:
        log.warning("%s: our addition to it is still there: %s", record.path, error)
        return
    if kept.entries:
        records.save(kept)
    else:
        records.forget(record)


def _write(records: Records, record: SharedFile, kept: SharedFile, text: str) -> SharedFile:
    """Give the file the text that it has without our additions."""
    if not kept.entries and not record.changed:
        left = record.original
    else:
        left = _without(record, text)
        if not kept.entries and record.original is None and edits.is_empty(left):
            left = None
    if left is None:
        files.remove(record.path, record.directories)
    elif left != text:
        kept = replace(kept, changed=record.changed, written=(*record.written, digest(left)))
        records.save(replace(record, changed=record.changed, written=kept.written))
        files.replace(record.path, left)
    return kept


def _without(record: SharedFile, text: str) -> str:
    for entry in reversed(record.entries):
        if not entry.holders:
            text = edits.remove(text, entry.keys, json.loads(entry.value), is_item=entry.is_item, made=entry.made)
    return text


@contextmanager
def _locked(state: StateDirectory) -> Iterator[Records]:
    """One at a time, across processes and threads."""
    records = Records(state)
    records.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (records.directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield records
