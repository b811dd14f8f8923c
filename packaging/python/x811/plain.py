"""JSON data: a message is signed over the very data that is sent."""

import json
import math

#: The deepest nesting in a payload; the ledger reads 128 levels, and the envelope and its payload are two.
MOST_LEVELS = 126
#: The largest magnitude of a number that the ledger reads.
MOST_NUMBER = 2**53 - 1


def plain(value, path: str = "", level: int = 0):
    """Returns a copy of the value as JSON has it: a tuple as a list, an enumeration of texts or numbers as its value.
    Raises a ValueError that names the first member that cannot be sent by its path."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value) if _is_well_formed(value) else _refuse(path, "has a lone surrogate: replace it")
    if isinstance(value, (int, float)):
        return _number(value, path)
    if not isinstance(value, (dict, list, tuple)):
        _refuse(path, f"is of the type {type(value).__name__}: write it as text, str(value) for instance")
    if level > MOST_LEVELS:
        _refuse(path, f"is nested deeper than {MOST_LEVELS} levels")
    if isinstance(value, dict):
        return {_name(path, name): plain(item, _member(path, name), level + 1) for name, item in value.items()}
    return [plain(item, f"{path}[{place}]", level + 1) for place, item in enumerate(value)]


def _number(value, path):
    value = int.__int__(value) if isinstance(value, int) else float.__float__(value)
    if isinstance(value, float) and not math.isfinite(value):
        _refuse(path, f"is {value}: write None, or text")
    if abs(value) > MOST_NUMBER:
        _refuse(path, f"is {value!r}, over 2^53 - 1: write it as text")
    return value


def _name(path, name) -> str:
    if not isinstance(name, str) or not _is_well_formed(name):
        _refuse(path, f"has a member named {name!r}: a name is text without lone surrogates")
    return str.__str__(name)


def _member(path, name) -> str:
    if not name.isidentifier():
        return f"{path}[{json.dumps(name, ensure_ascii=False)}]"
    return f"{path}.{name}" if path else name


def _is_well_formed(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(path, why):
    raise ValueError(f"{path or 'the payload'} {why}")
