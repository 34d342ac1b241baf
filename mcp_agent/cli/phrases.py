"""Small pieces of the sentences that people read."""


def counted(count: int, noun: str) -> str:
    """`1 session was`, `2 sessions were`."""
    return f"{count} {noun} was" if count == 1 else f"{count} {noun}s were"
