"""The process table of this platform."""

import sys

if sys.platform == "linux":
    from mcp_agent.processes.facts_linux import Facts, boot_id, environment, facts, pids
else:
    from mcp_agent.processes.facts_portable import Facts, boot_id, environment, facts, pids

__all__ = ["Facts", "boot_id", "environment", "facts", "pids"]
