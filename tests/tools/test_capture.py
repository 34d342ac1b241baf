"""What is kept of a stream, and what is shown of it."""

import errno
import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_agent.tools.capture import Capture
from mcp_agent.tools.clipping import Stream, clip, clip_pair

SAME_PATH = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(parts=st.lists(st.binary(max_size=40), max_size=20), max_bytes=st.integers(2, 100))
@SAME_PATH
def test_a_capture_holds_head_and_tail_and_counts_the_rest(tmp_path: Path, parts: list[bytes], max_bytes: int) -> None:
    path, stream = tmp_path / "stdout", b"".join(parts)
    capture = Capture(path, max_bytes=max_bytes)
    for part in parts:
        capture.write(part)
    capture.close()
    kept = path.read_bytes()
    assert capture.total_bytes == len(stream)
    assert len(kept) + capture.omitted_bytes == len(stream)
    head = max_bytes - max_bytes // 2
    assert kept == (stream if len(stream) <= max_bytes else stream[:head] + stream[len(stream) - max_bytes // 2 :])
    assert sorted(tmp_path.iterdir()) == [path]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A disk that takes no more than that of any file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@given(
    parts=st.lists(st.binary(max_size=40), max_size=20), max_bytes=st.integers(2, 100), disk_bytes=st.integers(0, 100)
)
@SAME_PATH
def test_a_disk_that_takes_less_makes_head_and_tail_smaller_and_the_count_stays_exact(
    tmp_path: Path, parts: list[bytes], max_bytes: int, disk_bytes: int
) -> None:
    path, stream = tmp_path / "stdout", b"".join(parts)
    capture = Capture(path, max_bytes=max_bytes)
    with files_of_at_most(disk_bytes):
        for part in parts:
            capture.write(part)
        capture.close()
    kept = path.read_bytes()
    assert len(kept) == min(len(stream), max_bytes, disk_bytes)
    assert (capture.total_bytes, capture.omitted_bytes) == (len(stream), len(stream) - len(kept))
    head = min(max_bytes - max_bytes // 2, len(kept) - len(kept) // 2)
    if len(kept) > 1:
        assert kept == (stream if len(kept) == len(stream) else stream[:head] + stream[-(len(kept) - head) :])
    full = min(len(stream), max_bytes) > disk_bytes
    assert capture.problem == (os.strerror(errno.EFBIG) if full else None)


def test_a_capture_without_a_file_counts_and_says_why(tmp_path: Path) -> None:
    capture = Capture(tmp_path / "missing" / "stdout", max_bytes=100)
    capture.write(b"12345")
    capture.close()
    assert (capture.total_bytes, capture.omitted_bytes) == (5, 5)
    assert capture.problem == os.strerror(errno.ENOENT)


@given(text=st.text(max_size=3000), budget=st.integers(300, 2000))
@SAME_PATH
def test_what_is_shown_is_whole_characters_within_the_budget(tmp_path: Path, text: str, budget: int) -> None:
    path, raw = tmp_path / "stdout", text.encode()
    path.write_bytes(raw)
    shown = clip(path, len(raw), budget_bytes=budget)
    assert len(json.dumps(shown.text, ensure_ascii=False).encode()) <= budget
    assert shown.binary == ("\0" in shown.text)
    head, mark, tail = shown.text.partition(f"\n[... {shown.omitted_bytes} bytes omitted ...]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len((head + tail).encode()) + (shown.omitted_bytes if mark else 0) == len(raw)


@pytest.mark.parametrize("cut", range(64, 75))
def test_the_omission_counts_what_the_file_does_not_hold_too(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "stdout"
    path.write_bytes("漢".encode() * 100)
    shown = clip(path, 1_000_300, budget_bytes=cut + 100)
    assert shown.omitted_bytes + 3 * shown.text.count("漢") == 1_000_300
    assert "\ufffd" not in shown.text


def test_what_one_stream_does_not_need_goes_to_the_other(tmp_path: Path) -> None:
    long, short = tmp_path / "long", tmp_path / "short"
    long.write_bytes(b"x" * 10_000)
    short.write_bytes(b"z" * 10)
    for pair in ((Stream(long, None), Stream(short, None)), (Stream(short, None), Stream(long, None))):
        shown = clip_pair(*pair, budget_bytes=2000)
        assert sum(part.json_bytes for part in shown) in range(1800, 2001)
        assert sum(part.text.count("z") for part in shown) == 10


def test_two_long_streams_share_the_budget(tmp_path: Path) -> None:
    for name in ("out", "err"):
        (tmp_path / name).write_bytes(b"x" * 10_000)
    shown = clip_pair(Stream(tmp_path / "out", None), Stream(tmp_path / "err", None), budget_bytes=2000)
    assert all(part.json_bytes in range(800, 1200) for part in shown)


def test_output_of_a_supervisor_that_died_before_it_was_opened_is_empty(tmp_path: Path) -> None:
    assert clip(tmp_path / "missing", None, budget_bytes=100).text == ""


def test_output_whose_file_was_deleted_is_omitted_and_not_empty(tmp_path: Path) -> None:
    shown = clip(tmp_path / "missing", 7, budget_bytes=100)
    assert (shown.text, shown.omitted_bytes) == ("\n[... 7 bytes omitted ...]\n", 7)
