"""`python -m mcp_agent.server`: the server of the state directory that `MCP_AGENT_HOME` names.

In the foreground, or, with `--detach`, as nobody's child: a server that a session's bridge started must not end with
the session.
"""

import os
import sys

from mcp_agent.server.serving import main

if __name__ == "__main__":
    if "--detach" in sys.argv[1:]:
        if os.fork():
            os._exit(0)
        os.setsid()
    sys.exit(main(os.environ))
