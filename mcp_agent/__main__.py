"""`python -m mcp_agent` is the command `mcp-agent`."""

from mcp_agent.cli.main import run

if __name__ == "__main__":
    run()
