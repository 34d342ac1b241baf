"""The report as one page that opens from disk: no script, no network, no font of ours."""

from mcp_agent.scenarios.report.html.page import page

__all__ = ["page"]
