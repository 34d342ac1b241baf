"""One addition to a JSON text, and taking it out: everything else keeps every byte."""

import json
import re
from dataclasses import dataclass

from mcp_agent.sessions.shared_files.jsonc import Child, Node, NotJson, read, skip

Keys = tuple[str, ...]

EMPTY = "{}\n"
_UNIT = "  "


class Taken(Exception):
    """Somebody else's value stands in this place."""


@dataclass(frozen=True, slots=True)
class Added:
    """A text with the addition in it."""

    text: str
    is_ours: bool
    """False when what was to be added stood there already."""
    made: tuple[Keys, ...] = ()
    """The objects and lists that had to be made for it, the outermost first."""


def add(text: str, keys: Keys, value: object, *, is_item: bool = False, yields: bool = False) -> Added:
    """Put the value in. Raises `NotJson`, and `Taken` unless it `yields`."""
    parent, missing = _deepest(text, keys if is_item else keys[:-1], is_list=is_item)
    if missing:
        return _add_below(text, parent, missing, keys, value, is_item=is_item)
    if is_item:
        if value in (child.node.value for child in parent.children):
            return Added(text, is_ours=False)
        return Added(_insert(text, parent, None, value), is_ours=True)
    found = parent.child(keys[-1])
    if found is None:
        return Added(_insert(text, parent, keys[-1], value), is_ours=True)
    if yields or found.node.value == value:
        return Added(text, is_ours=False)
    raise Taken(f"{'.'.join(keys)} is somebody else's")


def _add_below(text: str, parent: Node, missing: Keys, keys: Keys, value: object, *, is_item: bool) -> Added:
    """The first missing container is put in with all that goes into it."""
    containers = keys if is_item else keys[:-1]
    whole: object = [value] if is_item else {keys[-1]: value}
    for key in reversed(missing[1:]):
        whole = {key: whole}
    made = tuple(containers[: len(containers) - left] for left in reversed(range(len(missing))))
    return Added(_insert(text, parent, missing[0], whole), is_ours=True, made=made)


def remove(text: str, keys: Keys, value: object, *, is_item: bool = False, made: tuple[Keys, ...] = ()) -> str:
    """Take the value out, if it still stands there, and what was made for it where nothing else came into it.

    Raises `NotJson`.
    """
    found = _find(read(text), keys, value, is_item=is_item)
    if found is not None:
        text = _cut(text, *found)
    for container in reversed(made):
        emptied = _member(read(text), container)
        if emptied is not None and emptied[1].node.value in ({}, []):
            text = _cut(text, *emptied)
    return text


def is_empty(text: str) -> bool:
    """Whether nothing is left in the text but an empty object. Raises `NotJson`."""
    return read(text).value == {}


def _deepest(text: str, containers: Keys, *, is_list: bool) -> tuple[Node, Keys]:
    """The innermost container that is there, and the keys of those that are not."""
    node = _checked(text, read(text), "the file", is_list=is_list and not containers)
    for depth, key in enumerate(containers):
        found = node.child(key)
        if found is None:
            return node, containers[depth:]
        node = _checked(text, found.node, repr(key), is_list=is_list and depth + 1 == len(containers))
    return node, ()


def _checked(text: str, node: Node, name: str, *, is_list: bool) -> Node:
    if not isinstance(node.value, list if is_list else dict):
        raise NotJson(text, node.start, f"{name} is no {'list' if is_list else 'object'}")
    return node


def _find(root: Node, keys: Keys, value: object, *, is_item: bool) -> tuple[Node, Child] | None:
    if not is_item:
        found = _member(root, keys)
        return found if found and found[1].node.value == value else None
    held = _member(root, keys)
    items = held[1].node.children if held else ()
    child = next((child for child in reversed(items) if child.key is None and child.node.value == value), None)
    return (held[1].node, child) if held and child else None


def _member(root: Node, keys: Keys) -> tuple[Node, Child] | None:
    """The member at the end of these keys, and the object that holds it."""
    node, found = root, None
    for key in keys:
        child = node.child(key)
        if child is None:
            return None
        found, node = (node, child), child.node
    return found


def _insert(text: str, parent: Node, key: str | None, value: object) -> str:
    """First in its container, so that comments behind the others stay where they are."""
    newline = "\r\n" if "\r\n" in text else "\n"
    inner = _indent(text, parent)
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    at, comma = parent.start + 1, "," if parent.children else ""
    if inner is None:
        blank = " " if parent.children and text[at] != " " else ""
        return f"{text[:at]}{name}{json.dumps(value, ensure_ascii=False)}{comma}{blank}{text[at:]}"
    lines = json.dumps(value, ensure_ascii=False, indent=_UNIT).split("\n")
    shown = f"{newline}{inner}".join(lines)
    rest = text[at:]
    if not parent.children and skip(text, at) == parent.end - 1 and "\n" not in rest[: parent.end - 1 - at]:
        rest = f"{newline}{inner.removesuffix(_unit(text))}{rest.lstrip(' ')}"
    return f"{text[:at]}{newline}{inner}{name}{shown}{comma}{rest}"


def _indent(text: str, parent: Node) -> str | None:
    """What its members are indented by; None where all of them stand on one line."""
    if parent.children:
        before = text[parent.start + 1 : parent.children[0].start]
        return before.rpartition("\n")[2] if "\n" in before and not before.rpartition("\n")[2].strip() else None
    line = text[text.rfind("\n", 0, parent.start) + 1 : parent.start]
    if parent.start and "\n" not in text.strip():
        return None
    return f"{line[: len(line) - len(line.lstrip())]}{_unit(text)}"


def _unit(text: str) -> str:
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found[1] if found else _UNIT


def _cut(text: str, parent: Node, child: Child) -> str:
    """Without the child, its comma and the blank space before it, unless that ends a comment."""
    start = parent.start + 1 + len(text[parent.start + 1 : child.start].rstrip())
    if text[start - 1] not in "{[,":
        start = child.start
    after = skip(text, child.node.end)
    if text[after] == ",":
        return text[:start] + text[after + 1 :]
    place = parent.children.index(child)
    if place == 0:
        return text[:start] + text[child.node.end :]
    comma = text.index(",", skip(text, parent.children[place - 1].node.end))
    return text[:comma] + text[comma + 1 : start] + text[child.node.end :]
