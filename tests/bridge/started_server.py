"""A server that a bridge starts: notes how it was started, then serves one tool on the socket until it is killed."""

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        tool = {"name": "echo", "inputSchema": {"type": "object"}, "category": "virtual", "server": None}
        self.reply({"tools": [tool]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.reply({"text": body.decode(), "structured": None})

    def reply(self, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: nobody listens."""


def note(path: Path) -> None:
    """One line for each start."""
    facts = {
        "pid": os.getpid(),
        "leads_its_session": os.getsid(0) == os.getpid(),
        "directory": str(Path.cwd()),
        "environment": {name: value for name, value in os.environ.items() if name not in ("LC_CTYPE", "PWD")},
        "files": {path.name: str(path.readlink()) for path in descriptors()},
        "interrupt": signal.getsignal(signal.SIGINT) is not signal.SIG_IGN,
    }
    with path.open("a") as file:
        file.write(json.dumps(facts) + "\n")


def descriptors() -> list[Path]:
    """Every open one, without the one that lists them."""
    return [path for path in list(Path("/proc/self/fd").iterdir()) if path.is_symlink()]


if __name__ == "__main__":
    signal.alarm(100)
    socket_path, notes = Path(sys.argv[1]), Path(sys.argv[2])
    note(notes)
    socket_path.unlink(missing_ok=True)
    ThreadingUnixStreamServer(str(socket_path), Handler).serve_forever()
