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
    plain = json.loads(json.dumps(arguments), parse_float=_number)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number
