"""The stdio MCP server `api-bridge`: started by a provider's CLI as `python -I mcpbridge.py [SESSION_FILE]`.

It must answer `initialize` within 100 ms, so it and its siblings import little: no asyncio, no pathlib, no dataclasses,
no typing. This file is compiled anew at every start and therefore holds only the start; its siblings are cached.
"""
# ruff: noqa: PTH100, PTH120

import os
import sys
from types import ModuleType

if __name__ == "__main__":  # started by its path: its siblings lie beside it, and it sees nothing else of the package
    for name, path in (("mcp_agent", ""), ("mcp_agent.bridge", os.path.dirname(os.path.abspath(__file__)))):
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [path]

from mcp_agent.bridge.serve import run

if __name__ == "__main__":
    sys.exit(run(sys.argv))
