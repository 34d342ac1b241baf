"""Texts of others on one line of ours."""


def one_line(text: str, *, longest: int) -> str:
    """The text without its line breaks; one that is longer ends after a whole word, with `…`."""
    line = " ⏎ ".join(text.splitlines())
    if len(line) <= longest:
        return line
    kept = line[:longest]
    words = kept[: max(kept.rfind(" "), 0)].rstrip(" ⏎")
    return f"{words if len(words) > longest // 2 else kept[:-1]}…"
