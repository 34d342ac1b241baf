"""The state directory: where everything of ours lives on disk, and who may read it.

`docs/architecture.md` draws it. All of it belongs to one user: directories are 0700, files 0600.
"""

import hashlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from mcp_agent.errors import BadConfiguration

HOME_VARIABLE = "MCP_AGENT_HOME"

LONGEST_SOCKET_PATH = 100
"""In bytes; the kernel takes 107, and tmux and the servers add suffixes of their own."""

_SOCKETS = ("server.sock", "tmux.sock")
_TMP = Path("/tmp")
_LONGEST_RUNTIME = 50


def new_session_id() -> str:
    """A fresh id such as `s-4f1c09ab3e`."""
    return f"s-{secrets.token_hex(5)}"


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """The files of one `MCP_AGENT_HOME`. Naming a path makes nothing; `create` and the writers do."""

    root: Path
    """Absolute."""
    runtime: Path = _TMP
    """Where a short directory for sockets is made when those below `root` would have too long a path."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "StateDirectory":
        """The directory that `MCP_AGENT_HOME` names, or the user's default one when it is unset or empty."""
        named = environ.get(HOME_VARIABLE)
        if not named:
            return cls(platformdirs.user_state_path("mcp-agent").absolute(), _runtime(environ))
        try:
            return cls(Path(named).expanduser().absolute(), _runtime(environ))
        except RuntimeError as error:
            raise BadConfiguration(HOME_VARIABLE, f"{named!r} names nobody's home directory") from error

    @property
    def lock(self) -> Path:
        return self.root / "server.lock"

    @property
    def server_record(self) -> Path:
        return self.root / "server.json"

    @property
    def log(self) -> Path:
        return self.root / "server.log"

    @property
    def owner_token(self) -> Path:
        return self.root / "owner-token"

    @property
    def server_socket(self) -> Path:
        return self.sockets / "server.sock"

    @property
    def tmux_socket(self) -> Path:
        return self.sockets / "tmux.sock"

    @property
    def sessions(self) -> Path:
        return self.root / "sessions"

    @property
    def calls(self) -> Path:
        return self.root / "calls"

    @property
    def ledger(self) -> Path:
        return self.root / "calls.sqlite"

    @property
    def session_store(self) -> Path:
        return self.root / "sessions.sqlite"

    @property
    def executions(self) -> Path:
        """The record of executions, and what acknowledges them."""
        return self.root / "executions.sqlite"

    @property
    def engine(self) -> Path:
        """The database that drives executions, unless another one is configured."""
        return self.root / "engine.sqlite"

    @property
    def worktrees(self) -> Path:
        return self.root / "worktrees"

    def session(self, session_id: str) -> Path:
        return self.sessions / _one_segment(session_id)

    def call(self, call_id: str) -> Path:
        return self.calls / _one_segment(call_id)

    @property
    def sockets(self) -> Path:
        """The directory of both sockets: `run` below the root, or a short one that `run` is then a link to.

        The link keeps the place the same for processes with another `XDG_RUNTIME_DIR`.
        """
        run = self.root / "run"
        if _fits(run):
            return run
        try:
            return run.readlink()
        except OSError:
            return self._short_sockets

    @property
    def _short_sockets(self) -> Path:
        return self.runtime / f"mcp-agent-{os.getuid()}" / hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]

    def create(self) -> None:
        """Make the root and the sockets' directory, both 0700.

        Raises `BadConfiguration` when one of them cannot be made, is no directory, or is not this user's alone.
        """
        _own_root(self.root)
        run = self.root / "run"
        if _fits(run):
            _own_directory(run)
            return
        try:
            _own_short(self.sockets)
        except BadConfiguration:
            if run.is_symlink():
                run.unlink(missing_ok=True)
            _own_short(self._short_sockets)
        with suppress(FileExistsError):
            run.symlink_to(self.sockets)

    def make_session(self, session_id: str) -> Path:
        """The directory of this session, made 0700 when it is not there yet."""
        return self._make(self.session(session_id))

    def make_call(self, call_id: str) -> Path:
        """The directory of this call, made 0700 when it is not there yet."""
        return self._make(self.call(call_id))

    def _make(self, path: Path) -> Path:
        self.create()
        _own_directory(path.parent)
        _own_directory(path)
        return path

    def read_owner_token(self) -> str | None:
        """The owner's token; None when none was made yet."""
        try:
            return self.owner_token.read_text(encoding="ascii").strip() or None
        except FileNotFoundError:
            return None

    def ensure_owner_token(self) -> str:
        """The owner's token, made on first use; everyone who races for it gets the same one."""
        self.create()
        fresh = _private_temporary(self.owner_token, secrets.token_urlsafe(32) + "\n")
        with fresh as made, suppress(FileExistsError):
            os.link(made, self.owner_token)
        token = self.read_owner_token()
        if token is None:
            raise BadConfiguration(self.owner_token, "the file is empty; remove it, and a new token is made")
        return token

    def remove_sockets_directory_if_empty(self) -> None:
        """Take the sockets' directory away, unless something still lives in it."""
        with suppress(OSError):
            self.sockets.rmdir()
            (self.root / "run").unlink()


def write_private(path: Path, text: str, *, synced: bool = True) -> None:
    """Replace the file by this text, 0600, whole or not at all.

    The directory must exist. On return the text is on disk; without `synced` it survives us, but maybe no power cut. On
    an error the old file is untouched and nothing is left.
    """
    with _private_temporary(path, text, synced=synced) as made:
        made.rename(path)
    if synced:
        _sync_directory(path.parent)


@contextmanager
def _private_temporary(path: Path, text: str, *, synced: bool = True) -> Iterator[Path]:
    """A 0600 file beside `path` that holds the text; whatever still has that name afterwards is removed."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    made = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        yield made
    finally:
        made.unlink(missing_ok=True)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _runtime(environ: Mapping[str, str]) -> Path:
    named = Path(environ.get("XDG_RUNTIME_DIR", ""))
    return named if named.is_absolute() and len(os.fsencode(named)) <= _LONGEST_RUNTIME and named.is_dir() else _TMP


def _fits(directory: Path) -> bool:
    return all(len(os.fsencode(directory / name)) <= LONGEST_SOCKET_PATH for name in _SOCKETS)


def _own_root(path: Path) -> None:
    """Make the root, or check the one in its place; a directory that already holds things is never re-moded."""
    _make_directory(path, parents=True)
    mode = stat.S_IMODE(_checked(path, path.stat()).st_mode)
    if mode & 0o077 and any(path.iterdir()):
        raise BadConfiguration(path, f"is open to other users (mode {mode:04o}); close it with: chmod 700 {path}")
    if mode & 0o077:
        path.chmod(0o700)


def _own_short(path: Path) -> None:
    _own_directory(path.parent)
    _own_directory(path)


def _own_directory(path: Path) -> None:
    """Make a directory of ours 0700, or check the one in its place and close it to others; no symlink is followed."""
    _make_directory(path)
    if stat.S_IMODE(_checked(path, path.lstat()).st_mode) & 0o077:
        path.chmod(0o700)


def _make_directory(path: Path, *, parents: bool = False) -> None:
    try:
        path.mkdir(mode=0o700, parents=parents, exist_ok=True)
    except OSError as error:
        raise BadConfiguration(path, f"cannot be made a directory: {error.strerror or error}") from error


def _checked(path: Path, found: os.stat_result) -> os.stat_result:
    if not stat.S_ISDIR(found.st_mode):
        raise BadConfiguration(path, "is not a directory")
    if found.st_uid != os.getuid():
        raise BadConfiguration(path, f"belongs to another user (uid {found.st_uid})")
    return found


def _one_segment(identifier: str) -> str:
    """The id itself; an id that would lead out of its directory is refused."""
    if identifier in {"", ".", ".."} or "/" in identifier or "\0" in identifier:
        raise ValueError(f"{identifier!r} is no id")
    return identifier
