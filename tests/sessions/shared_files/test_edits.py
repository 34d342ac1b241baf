"""Putting one value into a JSON text and taking it out again: everything else keeps every byte."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.sessions.shared_files import edits
from mcp_agent.sessions.shared_files.edits import Taken, add, is_empty, remove
from mcp_agent.sessions.shared_files.jsonc import NotJson, read

pytestmark = pytest.mark.contract("A4")

KEYS = ("mcpServers", "api-bridge")
ENTRY = {"command": "/usr/bin/python3", "args": ["-I", "x.py"]}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.text(max_size=6), PLAIN, max_size=4)
TEXTS = [
    "{}",
    "{}\n",
    "{\n}\n",
    "\ufeff{ }",
    '{"mcpServers":{}}',
    '{ "mcpServers" : { "mine" : {"command":"x"} } }',
    '{\r\n\t"mcpServers": {\r\n\t\t// mine\r\n\t\t"mine": {}, // note\r\n\t},\r\n\t"future": [1,  2],\r\n}\r\n',
    '/* all mine */\n{\n    "future": {"a": 1},\n    "mcpServers": {\n        "mine": {}\n    }\n}',
    '{"a": 1, // why\n "mcpServers": {"x": {}, /* last */ },\n}',
]


def plain(text: str) -> object:
    return read(text).value


def unspaced(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_put_in_and_taken_out_leaves_everything_but_blanks_in_the_gap(text: str) -> None:
    added = add(text, KEYS, ENTRY)

    assert added.is_ours
    assert plain(added.text)["mcpServers"]["api-bridge"] == ENTRY  # type: ignore[index]
    assert unspaced(remove(added.text, KEYS, ENTRY, made=added.made)) == unspaced(text)


@pytest.mark.parametrize("text", TEXTS)
def test_everything_else_stays_as_it_was(text: str) -> None:
    changed = add(text, KEYS, ENTRY).text

    assert [line for line in text.splitlines() if "//" in line] == [
        line for line in changed.splitlines() if "//" in line
    ]
    assert "\r\n" not in text or "\n" not in changed.replace("\r\n", "")


@given(document=DOCUMENTS, indent=st.sampled_from([None, 2, 4, "\t"]))
def test_any_document_comes_back(document: dict[str, object], indent: int | str | None) -> None:
    document.pop("mcpServers", None)
    text = json.dumps(document, indent=indent)
    added = add(text, KEYS, ENTRY)

    assert plain(added.text) == {**document, "mcpServers": {"api-bridge": ENTRY}}
    assert plain(remove(added.text, KEYS, ENTRY, made=added.made)) == document


@given(items=st.lists(PLAIN, max_size=3), indent=st.sampled_from([None, 2]))
def test_an_item_joins_a_list_and_leaves_it(items: list[object], indent: int | None) -> None:
    items = [item for item in items if item != "ours"]
    text = json.dumps({"hooks": {"stop": items}}, indent=indent)
    added = add(text, ("hooks", "stop"), "ours", is_item=True)

    assert plain(added.text) == {"hooks": {"stop": ["ours", *items]}}
    assert plain(remove(added.text, ("hooks", "stop"), "ours", is_item=True)) == {"hooks": {"stop": items}}


def test_a_list_is_made_with_all_that_leads_to_it_and_goes_with_its_only_item() -> None:
    added = add("{}\n", ("hooks", "stop"), "ours", is_item=True)

    assert plain(added.text) == {"hooks": {"stop": ["ours"]}}
    assert added.made == (("hooks",), ("hooks", "stop"))
    assert remove(added.text, ("hooks", "stop"), "ours", is_item=True, made=added.made).split() == ["{", "}"]


def test_what_somebody_put_beside_it_stays() -> None:
    added = add("{}\n", KEYS, ENTRY)
    theirs = added.text.replace('"mcpServers": {', '"mcpServers": {\n    "mine": {}, // keep')

    assert plain(remove(theirs, KEYS, ENTRY, made=added.made)) == {"mcpServers": {"mine": {}}}
    assert "// keep" in remove(theirs, KEYS, ENTRY, made=added.made)


def test_what_somebody_made_of_it_is_theirs_now() -> None:
    changed = add("{}", KEYS, ENTRY).text.replace("x.py", "y.py")

    assert remove(changed, KEYS, ENTRY) == changed


def test_what_stands_there_already_is_not_ours() -> None:
    text = json.dumps({"mcpServers": {"api-bridge": ENTRY}, "version": 2})

    assert add(text, KEYS, ENTRY) == edits.Added(text, is_ours=False)
    assert add(text, ("version",), 1, yields=True) == edits.Added(text, is_ours=False)


def test_another_value_in_this_place_is_somebody_elses() -> None:
    with pytest.raises(Taken, match="api-bridge"):
        add('{"mcpServers": {"api-bridge": {"command": "theirs"}}}', KEYS, ENTRY)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: no JSON: a value should stand where its end does"),
        ('{\n"a": 1\n"b": 2}', "line 3: no JSON: a comma or '}' should stand where '\"b\": 2}' does"),
        ('{"a" 1}', "line 1: no JSON: a colon"),
        ('{"a": nope}', "line 1: no JSON: a value"),
        ("{} x", "line 1: no JSON: 'x' after its end"),
        ("[]", "line 1: the file is no object"),
        ('{\n"mcpServers": []}', "line 2: 'mcpServers' is no object"),
        ("[" * 1000, "nested too deep"),
    ],
)
def test_a_text_that_cannot_be_changed_is_told_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(NotJson) as told:
        add(text, KEYS, ENTRY)
    assert problem in str(told.value)


def test_an_object_is_empty_whatever_is_said_about_it() -> None:
    assert is_empty("{ // nothing\n}")
    assert not is_empty('{"a": {}}')
