"""What makes two calls identical."""

import hashlib
import json
from collections.abc import Mapping


def digest(tool: str, arguments: Mapping[str, object]) -> str:
    """The fingerprint of a call, as 64 hex digits."""
    return hashlib.sha256(f"{tool}\0{canonical(arguments)}".encode("utf-8", "surrogatepass")).hexdigest()


def canonical(arguments: Mapping[str, object]) -> str:
    """The arguments as JSON in one spelling: keys sorted, no spaces, `1.0` as `1`.

    JSON has one kind of number, and programs on the way may respell it. Booleans are no numbers, lists keep their
    order, and texts are compared as they are: `é` in one and in two code points are two texts.
    """
    texts_only = all(isinstance(value, str) for value in arguments.values())
    plain = arguments if texts_only else _DECODER.decode(json.dumps(arguments))
    return _ENCODER.encode(plain)


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


_DECODER = json.JSONDecoder(parse_float=_number)
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
