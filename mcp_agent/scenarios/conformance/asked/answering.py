"""What comes out of a turn."""

from datetime import timedelta
from typing import cast

from mcp_agent.adapter import Capability
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.conformance.asked.starting import FIRST
from mcp_agent.scenarios.conformance.case import Case
from mcp_agent.scenarios.conformance.question import Asks, Question
from mcp_agent.scenarios.model.dialect import INPUT_TOKENS, OUTPUT_TOKENS
from mcp_agent.scenarios.probes import Evidence, canary, require
from mcp_agent.server.client import Json

LINES = 40
USAGE_WITHIN = timedelta(seconds=10)
"""It may be written down after the turn's end."""
TABLE = """| name | value |
|:-----|------:|
| PLACEHOLDER | 1 |
| `a \\| b` | **2** |

1. one
   - nested *emphasis* and ~~nothing~~
2. two

> PLACEHOLDER, quoted"""
CODE = """```python
def PLACEHOLDER():
    return {"a": [1, 2], "b": "\\t\\n"}  # <- ❯ 1. Yes
```

~~~sh
printf '%s\\n' "$HOME" | sed 's/\\//:/g'   # PLACEHOLDER
~~~
────────────────────────────
❯ PLACEHOLDER"""
UNICODE = "PLACEHOLDER 漢字 한글 é e\u0301 👩‍👩‍👧‍👦 👍🏽 🇨🇭 \u05e9\u05dc\u05d5\u05dd ﬁ ∑ «» ’ … \u00a0| end"


async def a_long_answer_is_exact(case: Case) -> Evidence:
    """Forty lines come back as forty lines, none of them cut, joined or lost."""
    chat, token = await case.usable(FIRST), canary("LINE")
    turn = await chat.turn(prompts.many_lines(LINES, token), expect=prompts.many_lines_answer(LINES, token))
    return {"turn": turn["id"], "lines": LINES}


async def tables_and_lists_are_exact(case: Case) -> Evidence:
    """Markup comes back as it was written, not as it is drawn."""
    return await _filled_in(case, TABLE)


async def code_blocks_are_exact(case: Case) -> Evidence:
    """Fences, indents and backslashes come back, and what looks like the CLI's own screen is text."""
    return await _filled_in(case, CODE)


async def unicode_is_exact(case: Case) -> Evidence:
    """Wide, joined, combining and right-to-left characters come back as they are."""
    return await _filled_in(case, UNICODE)


async def usage(case: Case) -> Evidence:
    """A turn's cost is what the model server reported for its one answer, counted once."""
    chat, token = await case.usable(FIRST), canary("COST")
    turn = await chat.turn(prompts.repeat_exactly(token), expect=token)
    now = await case.driver.until(chat.id, lambda shown: bool(_last(shown)["usage"]), limit=USAGE_WITHIN)
    told = cast("Json | None", _last(now)["usage"])
    require(told is not None, "the turn tells no usage")
    expected = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}
    counted = {name: (told or {}).get(name) for name in expected}
    require(counted == expected, f"the turn cost {counted}, the model server reported {expected}")
    return {"turn": turn["id"], **counted}


def _last(shown: Json) -> Json:
    return cast("list[Json]", shown["turns"])[-1]


async def _filled_in(case: Case, text: str) -> Evidence:
    """The answer never stands in the prompt, so that it cannot have been read from there."""
    chat, word = await case.usable(FIRST), canary("WORD")
    turn = await chat.turn(prompts.fill_in(text, word), expect=prompts.fill_in_answer(text, word))
    return {"turn": turn["id"], "characters": len(str(turn["final_text"]))}


QUESTIONS: tuple[Question[Asks], ...] = (
    Question(a_long_answer_is_exact),
    Question(tables_and_lists_are_exact),
    Question(code_blocks_are_exact),
    Question(unicode_is_exact),
    Question(usage, Capability.USAGE),
)
