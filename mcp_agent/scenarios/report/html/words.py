"""Small pieces of text that every part of the page uses."""

from html import escape

from mcp_agent.scenarios.results import Result

SIGNS = {
    Result.PASSED: "✓",
    Result.FAILED: "✗",
    Result.INCONCLUSIVE: "?",
    Result.NOT_RUN: "–",
    Result.SKIPPED: "·",
}

CLASSES = {
    Result.PASSED: "passed",
    Result.FAILED: "failed",
    Result.INCONCLUSIVE: "open",
    Result.NOT_RUN: "open",
    Result.SKIPPED: "skipped",
}


def text(value: object) -> str:
    """A value as it stands in the page."""
    return escape(str(value))


def tag(name: str, content: str, **attributes: str) -> str:
    """An element; `content` is HTML already, attributes are not. `class_` is `class`."""
    told = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{told}>{content}</{name}>"


def sign(result: Result) -> str:
    """The mark of a result; its colour says the same as its shape, and the word is read aloud."""
    mark = tag("span", SIGNS[result], aria_hidden="true")
    return tag("span", mark + tag("span", str(result), class_="aloud"), class_=f"sign {CLASSES[result]}")


def duration(seconds: float) -> str:
    """`0.4 s`, `42 s`, `5 min 30 s`, `1 h 30 min`: never broken over two lines."""
    return _spoken(seconds).replace(" ", "\u00a0")


def _spoken(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, smaller, word in ((3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit}" + (f" {rest} {word}" if rest else "")
    return f"{whole} s"
