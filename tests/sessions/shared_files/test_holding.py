"""An addition stands in a shared file while one session needs it; then the file is as it was, whatever happened."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from mcp_agent.adapter import SharedFileEdit
from mcp_agent.errors import BadConfiguration
from mcp_agent.sessions.shared_files.holding import hold, release, sweep
from mcp_agent.state import StateDirectory

pytestmark = pytest.mark.contract("A4")

THEIRS = b'{\r\n  // mine\r\n  "servers": { "mine": {"command": "x"} },\r\n  "future": [1,  2],\r\n}\r\n'


def servers(file: Path) -> dict[str, object]:
    found = json.loads("".join(line for line in file.read_text().splitlines() if "//" not in line).replace(",}", "}"))
    assert isinstance(found, dict)
    return dict(found["servers"])


def theirs(file: Path, content: bytes = THEIRS, mode: int = 0o640) -> Path:
    file.parent.mkdir()
    file.write_bytes(content)
    file.chmod(mode)
    return file


def records(state: StateDirectory) -> list[str]:
    return [path.name for path in (state.root / "shared-files").glob("*.json")]


def test_a_file_that_was_not_there_goes_with_its_directory(state: StateDirectory, edit: SharedFileEdit) -> None:
    hold(state, "s-1", [edit])
    assert servers(edit.path) == {"ours": edit.value}

    release(state, "s-1")
    assert list(edit.path.parents[1].iterdir()) == []
    assert records(state) == []


def test_the_last_file_that_goes_takes_the_directory_along(state: StateDirectory, edit: SharedFileEdit) -> None:
    files = [replace(edit, path=edit.path.with_name(name)) for name in ("a.json", "b.json", "c.json")]
    hold(state, "s-1", files)
    release(state, "s-1")

    assert list(edit.path.parents[1].iterdir()) == []


def test_a_directory_that_somebody_uses_meanwhile_stays(state: StateDirectory, edit: SharedFileEdit) -> None:
    hold(state, "s-1", [edit])
    (edit.path.parent / "rules").write_text("mine")
    release(state, "s-1")

    assert [path.name for path in edit.path.parent.iterdir()] == ["rules"]


@pytest.mark.parametrize("content", [THEIRS, b'{"servers":{"mine":{}}}', b"{ }", b'\xef\xbb\xbf{"x":[1 , 2]}\n\n'])
def test_a_file_comes_back_byte_for_byte_with_its_mode(
    state: StateDirectory, edit: SharedFileEdit, content: bytes
) -> None:
    file = theirs(edit.path, content)
    hold(state, "s-1", [edit])
    during = file.read_bytes()
    release(state, "s-1")

    assert b'"ours"' in during
    assert during.count(b"// mine\r\n") == content.count(b"// mine\r\n")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (content, 0o640)


def test_a_link_stays_a_link(state: StateDirectory, edit: SharedFileEdit, short_tmp: Path) -> None:
    target = short_tmp / "dotfiles.json"
    target.write_bytes(THEIRS)
    edit.path.parent.mkdir()
    edit.path.symlink_to(target)
    hold(state, "s-1", [edit])
    assert (edit.path.is_symlink(), b'"ours"' in target.read_bytes()) == (True, True)

    release(state, "s-1")
    assert (edit.path.is_symlink(), target.read_bytes()) == (True, THEIRS)


def test_two_sessions_share_it_and_the_last_one_takes_it_out(state: StateDirectory, edit: SharedFileEdit) -> None:
    file = theirs(edit.path)
    other = replace(edit, keys=("servers", "other"))
    hold(state, "s-1", [edit])
    hold(state, "s-2", [edit, other])
    release(state, "s-1")
    assert {"ours", "other"} <= servers(file).keys()

    release(state, "s-2")
    assert file.read_bytes() == THEIRS


def test_what_only_one_of_them_needs_goes_with_it(state: StateDirectory, edit: SharedFileEdit) -> None:
    file = theirs(edit.path)
    hold(state, "s-1", [edit])
    hold(state, "s-2", [edit, replace(edit, keys=("servers", "other"))])
    release(state, "s-2")
    assert servers(file).keys() == {"mine", "ours"}

    release(state, "s-1")
    assert file.read_bytes() == THEIRS


def test_from_a_file_that_somebody_changed_only_ours_is_taken(state: StateDirectory, edit: SharedFileEdit) -> None:
    file = theirs(edit.path)
    hold(state, "s-1", [edit])
    file.write_bytes(file.read_bytes().replace(b'"future"', b'"theirs": 1,\r\n  "future"'))
    hold(state, "s-2", [edit])
    release(state, "s-1")
    release(state, "s-2")

    assert file.read_bytes().split() == THEIRS.replace(b'"future"', b'"theirs": 1,\r\n  "future"').split()


def test_a_file_that_somebody_took_away_stays_away(state: StateDirectory, edit: SharedFileEdit) -> None:
    file = theirs(edit.path)
    hold(state, "s-1", [edit])
    file.unlink()
    release(state, "s-1")

    assert not file.exists()


def test_what_stood_there_before_is_not_taken_out(state: StateDirectory, edit: SharedFileEdit) -> None:
    text = json.dumps({"servers": {"ours": edit.value}}).encode()
    file = theirs(edit.path, text)
    hold(state, "s-1", [edit])
    release(state, "s-1")

    assert file.read_bytes() == text
    assert records(state) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{\n"servers": {\n  broken\n}}', "line 3: no JSON"),
        (b'{"a": "\xff"}', "no UTF-8"),
        (b'{"servers": {"ours": {"command": "theirs"}}}', "servers.ours is somebody else's"),
    ],
)
def test_a_file_that_cannot_be_changed_is_never_written(
    state: StateDirectory, edit: SharedFileEdit, content: bytes, problem: str
) -> None:
    file = theirs(edit.path, content)
    with pytest.raises(BadConfiguration) as told:
        hold(state, "s-1", [edit])
    release(state, "s-1")

    assert str(told.value).startswith(f"{file}: ")
    assert problem in str(told.value)
    assert file.read_bytes() == content


def test_a_file_that_somebody_broke_meanwhile_is_left_and_tried_again(
    state: StateDirectory, edit: SharedFileEdit, caplog: pytest.LogCaptureFixture
) -> None:
    file = theirs(edit.path)
    hold(state, "s-1", [edit])
    during = file.read_bytes()
    file.write_bytes(b"{ broken")
    release(state, "s-1")
    assert (file.read_bytes(), "line 1: no JSON" in caplog.text) == (b"{ broken", True)

    file.write_bytes(during)
    sweep(state, lives=lambda _: True)
    assert file.read_bytes() == THEIRS


def test_a_session_that_is_gone_needs_nothing(state: StateDirectory, edit: SharedFileEdit) -> None:
    file = theirs(edit.path)
    hold(state, "s-1", [edit])
    sweep(state, lives=lambda session_id: session_id == "s-1")
    assert b'"ours"' in file.read_bytes()

    sweep(state, lives=lambda _: False)
    assert file.read_bytes() == THEIRS


def test_sessions_that_begin_and_end_at_once_leave_it_as_it_was(state: StateDirectory, edit: SharedFileEdit) -> None:
    file = theirs(edit.path)

    def live(number: int) -> bool:
        hold(state, f"s-{number}", [edit])
        stands = b'"ours"' in file.read_bytes()
        release(state, f"s-{number}")
        return stands

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(live, range(24)))
    assert file.read_bytes() == THEIRS
    assert records(state) == []


KILLED = """
import os, sys, signal
from pathlib import Path
from mcp_agent.adapter import SharedFileEdit
from mcp_agent.sessions.shared_files import files, holding, record
from mcp_agent.state import StateDirectory
root, path, moment = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
count = 0
def dying(act):
    def wrapped(*args, **kwargs):
        global count
        count += 1
        if count == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*args, **kwargs)
    return wrapped
files.replace = dying(files.replace)
files.make_directories = dying(files.make_directories)
record.Records.save = dying(record.Records.save)
record.Records.forget = dying(record.Records.forget)
state = StateDirectory(root, root.parent)
holding.hold(state, "s-1", [SharedFileEdit(path, ("servers", "ours"), {"command": "x"})])
holding.release(state, "s-1")
"""


@pytest.mark.parametrize("moment", range(1, 9))
@pytest.mark.parametrize("was_there", [True, False])
def test_a_kill_at_any_moment_is_undone_by_the_next_start(
    state: StateDirectory, edit: SharedFileEdit, moment: int, was_there: bool
) -> None:
    if was_there:
        theirs(edit.path)
    command = [sys.executable, "-c", KILLED, str(state.root), str(edit.path), str(moment)]
    ended = subprocess.run(command, check=False, timeout=60, env={**os.environ, "PYTHONPATH": str(Path.cwd())})
    assert ended.returncode in {0, -signal.SIGKILL}

    sweep(state, lives=lambda _: False)
    assert edit.path.read_bytes() == THEIRS if was_there else not edit.path.exists()
    assert records(state) == []


def test_a_place_that_cannot_be_written_is_told(state: StateDirectory, edit: SharedFileEdit) -> None:
    edit.path.parent.write_text("a file where a directory should be")
    with pytest.raises(BadConfiguration, match="cannot be read"):
        hold(state, "s-1", [edit])


def test_asking_again_for_a_session_changes_nothing(state: StateDirectory, edit: SharedFileEdit) -> None:
    file = theirs(edit.path)
    ask = partial(hold, state, "s-1", [edit])
    ask()
    ask()
    release(state, "s-1")

    assert file.read_bytes() == THEIRS


def test_a_link_that_leads_nowhere_stays_and_what_it_led_to_is_gone_again(
    state: StateDirectory, edit: SharedFileEdit, tmp_path: Path
) -> None:
    target = tmp_path / "elsewhere.json"
    edit.path.parent.mkdir()
    edit.path.symlink_to(target)

    hold(state, "s-1", [edit])
    assert servers(target) == {"ours": edit.value}

    release(state, "s-1")
    assert (edit.path.readlink(), target.exists()) == (target, False)


def test_what_is_no_regular_file_is_refused_at_once(state: StateDirectory, edit: SharedFileEdit) -> None:
    edit.path.parent.mkdir()
    os.mkfifo(edit.path)
    with pytest.raises(BadConfiguration, match="no regular file"):
        hold(state, "s-1", [edit])
    assert records(state) == []


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_takes_an_addition_and_is_empty_again(
    state: StateDirectory, edit: SharedFileEdit, content: bytes
) -> None:
    theirs(edit.path, content)
    hold(state, "s-1", [edit])
    assert servers(edit.path) == {"ours": edit.value}

    release(state, "s-1")
    assert edit.path.read_bytes() == content
