"""What is left when all is over."""

from mcp_agent.scenarios import probes
from mcp_agent.scenarios.conformance.asked.starting import FIRST
from mcp_agent.scenarios.conformance.case import Case
from mcp_agent.scenarios.conformance.question import Asks, Question
from mcp_agent.scenarios.conformance.user_files import differences, strangers
from mcp_agent.scenarios.probes import Evidence, require


async def cleanup(case: Case) -> Evidence:
    """Stopped means gone: processes, panes, tokens, sockets, and the server with them."""
    chat = case.started(FIRST)
    for other in case.others(FIRST):
        await case.driver.stop_session(other.id)
    return await probes.stop(chat)


async def user_files_are_untouched(case: Case) -> Evidence:
    """A user's and a project's configuration is what it was, byte for byte, and nothing was put beside it."""
    changed = differences(case.planted)
    require(not changed, "; ".join(changed))
    added = strangers(case.planted, case.working_directories)
    require(not added, f"files were added: {added}")
    return {"files": [str(path) for path in case.planted]}


QUESTIONS: tuple[Question[Asks], ...] = (Question(cleanup), Question(user_files_are_untouched))
