"""JSON with comments and trailing commas, read with the place of every value: a text can be changed where it stands."""

import json
import re
from dataclasses import dataclass

_BLANK = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[-+.\w]+")
_DEEPEST = 200
_SHOWN = 20


class NotJson(Exception):
    """The text cannot be read; the message names the line."""

    def __init__(self, text: str, at: int, problem: str) -> None:
        super().__init__(f"line {text.count(chr(10), 0, at) + 1}: {problem}")


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object, or an item of a list. `start` is where its key begins, if it has one."""

    start: int
    key: str | None
    node: "Node"


@dataclass(frozen=True, slots=True)
class Node:
    """One value and its place in the text."""

    start: int
    end: int
    value: object
    children: tuple[Child, ...] = ()

    def child(self, key: str) -> "Child | None":
        """The member of this name; of several the last one counts."""
        return next((child for child in reversed(self.children) if child.key == key), None)


def read(text: str) -> Node:
    """The one value that the text holds. Raises `NotJson`."""
    reader = _Reader(text)
    node = reader.value(skip(text, 0), depth=0)
    if (end := skip(text, node.end)) < len(text):
        raise NotJson(text, end, f"no JSON: {text[end : end + _SHOWN]!r} after its end")
    return node


def skip(text: str, at: int) -> int:
    """The next place that holds neither blank space nor a comment."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


@dataclass(frozen=True, slots=True)
class _Reader:
    text: str

    def value(self, at: int, *, depth: int) -> Node:
        opening = self.text[at : at + 1]
        if depth > _DEEPEST:
            raise NotJson(self.text, at, "no JSON that anybody wrote: it is nested too deep")
        if opening in {"{", "["}:
            return self._container(at, depth=depth)
        return self._scalar(at)

    def _container(self, at: int, *, depth: int) -> Node:
        is_object = self.text[at] == "{"
        closing, children, place = ("}" if is_object else "]"), list[Child](), skip(self.text, at + 1)
        while self.text[place : place + 1] != closing:
            child = self._child(place, is_object=is_object, depth=depth)
            children.append(child)
            place = skip(self.text, child.node.end)
            if self.text[place : place + 1] == ",":
                place = skip(self.text, place + 1)
            elif self.text[place : place + 1] != closing:
                raise self._unexpected(place, f"a comma or {closing!r}")
        values = [child.node.value for child in children]
        value = {child.key: child.node.value for child in children} if is_object else values
        return Node(at, place + 1, value, tuple(children))

    def _child(self, at: int, *, is_object: bool, depth: int) -> Child:
        if not is_object:
            return Child(at, None, self.value(at, depth=depth + 1))
        key = self._scalar(at)
        if not isinstance(key.value, str):
            raise self._unexpected(at, "a key")
        colon = skip(self.text, key.end)
        if self.text[colon : colon + 1] != ":":
            raise self._unexpected(colon, "a colon")
        return Child(at, key.value, self.value(skip(self.text, colon + 1), depth=depth + 1))

    def _scalar(self, at: int) -> Node:
        found = _STRING.match(self.text, at) or _WORD.match(self.text, at)
        if found is None:
            raise self._unexpected(at, "a value")
        try:
            return Node(at, found.end(), json.loads(found[0], strict=False))
        except ValueError:
            raise self._unexpected(at, "a value") from None

    def _unexpected(self, at: int, wanted: str) -> NotJson:
        seen = repr(self.text[at : at + _SHOWN].split("\n")[0]) if at < len(self.text) else "its end"
        return NotJson(self.text, at, f"no JSON: {wanted} should stand where {seen} does")
