"""What is asked of which provider, as a table: the same words as the suite's own."""

from collections.abc import Iterator, Sequence

from mcp_agent.adapter import Adapter
from mcp_agent.scenarios.conformance.capabilities import Need, lacking
from mcp_agent.scenarios.conformance.questions import ASKED, DESCRIBED

ASKED_MARK, LEFT_OUT_MARK = "yes", "–"


def matrix(adapters: Sequence[Adapter]) -> str:
    """A table in Markdown, and below it why a question is left out."""
    titles = [adapter.title for adapter in adapters]
    heading = _row("question", "what it proves", *titles)
    rule = _row(*["---"] * (len(titles) + 2))
    return "\n".join([heading, rule, *_questions(adapters), "", *_reasons(adapters)]).rstrip()


def _questions(adapters: Sequence[Adapter]) -> Iterator[str]:
    described = [(question.name, question.proves, question.needs) for question in DESCRIBED]
    asked = [(question.name, question.proves, question.needs) for question in ASKED]
    for name, proves, needs in (*described, *asked):
        yield _row(name, proves, *(_mark(adapter, needs) for adapter in adapters))


def _mark(adapter: Adapter, needs: Need | None) -> str:
    return LEFT_OUT_MARK if needs in lacking(adapter) else ASKED_MARK


def _reasons(adapters: Sequence[Adapter]) -> Iterator[str]:
    for adapter in adapters:
        for need, reason in lacking(adapter).items():
            yield f"- {adapter.title} lacks {need}: {reason}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
