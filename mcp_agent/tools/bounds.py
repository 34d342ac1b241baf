"""How much a model is shown of one result, and what is left out of one that would be longer."""

import json
from collections.abc import Iterable, Mapping, Sequence

SHOWN_BYTES = 36 << 10
"""What is shown of one result's output, in bytes of JSON text: the tightest cap of the CLIs lets it through whole.

Two caps are met, with room for what is told beside an output: 25,000 tokens, for text as dense as 1.5 bytes a token,
and 10,000 tokens as counted by dividing bytes by 4.
"""

SHOWN_ARGUMENTS_BYTES = 2 << 10
"""Of a call that is only looked up."""

SHOWN_EVIDENCE = 3
"""The newest so many of the looks at what became of a call."""


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def json_bytes(value: object) -> int:
    return len(_ENCODER.encode(value).encode("utf-8", "replace"))


def brief(facts: Mapping[str, object]) -> dict[str, object]:
    """A call's facts without what may be long: arguments beyond 2 KiB say only how long they are."""
    size, evidence = json_bytes(facts["arguments"]), facts["evidence"]
    arguments = facts["arguments"] if size <= SHOWN_ARGUMENTS_BYTES else {"omitted_bytes": size}
    newest = evidence[-SHOWN_EVIDENCE:] if isinstance(evidence, Sequence) else evidence
    return {**facts, "arguments": arguments, "evidence": newest}


def fitting(items: Iterable[Mapping[str, object]], *, budget_bytes: int) -> list[Mapping[str, object]]:
    """The first ones that fit into the budget together."""
    left, fit = budget_bytes, list[Mapping[str, object]]()
    for item in items:
        left -= json_bytes(item) + len(", ")
        if left < 0:
            break
        fit.append(item)
    return fit
