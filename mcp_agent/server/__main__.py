"""`python -m mcp_agent.server`: the server of the state directory that `MCP_AGENT_HOME` names, in the foreground."""

import os
import sys

from mcp_agent.server.serving import main

if __name__ == "__main__":
    sys.exit(main(os.environ))
