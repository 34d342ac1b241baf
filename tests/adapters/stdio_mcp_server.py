"""A small stdio MCP server that runs commands and notes every message in the file that its argument names."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

TOOL = {"name": "execute_shell_command", "inputSchema": {"type": "object"}}


def answer(identifier: object, result: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": identifier, "result": result}) + "\n")
    sys.stdout.flush()


def run(identifier: object, command: str) -> None:
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    report = json.dumps({"ended": "exited", "exit_status": done.returncode, "stdout": done.stdout})
    answer(identifier, {"content": [{"type": "text", "text": report}]})


def take(message: dict[str, Any]) -> None:
    """Calls run side by side, so that a cancellation is noted while they do."""
    identifier = message.get("id")
    match message["method"]:
        case "initialize":
            server = {"name": "api-bridge", "version": "1"}
            answer(identifier, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server})
        case "tools/list":
            answer(identifier, {"tools": [TOOL]})
        case "tools/call":
            command = message["params"]["arguments"]["command"]
            threading.Thread(target=run, args=(identifier, command), daemon=True).start()


if __name__ == "__main__":
    with Path(sys.argv[1]).open("a", buffering=1) as log:
        for line in sys.stdin:
            log.write(line)
            take(json.loads(line))
