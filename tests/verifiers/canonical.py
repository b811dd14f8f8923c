"""RFC 8785: the one spelling of a JSON value. Numbers are written as ECMAScript does."""

import json


def canonical(value):
    return text_of(value).encode()


def read_json(line):
    """A value that is in this form, and says no name twice."""
    value = json.loads(line, object_pairs_hook=members)
    if canonical(value) != line:
        raise ValueError("JSON that is not in RFC 8785 form")
    return value


def members(pairs):
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a member that is there twice")
    return dict(pairs)


def text_of(value):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{text_of(name)}:{text_of(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    if isinstance(value, float) or (isinstance(value, int) and abs(value) >= 2**53):
        return number(float(value))
    return json.dumps(value, ensure_ascii=False)


def number(value):
    """The shortest digits that read back as the same double, and where the point goes."""
    if value == 0:
        return "0"
    sign, (mantissa, _, exponent) = "-" * (value < 0), f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    shown = digits[0] + ("." + digits[1:] if digits[1:] else "")
    return f"{sign}{shown}e{'+' if point > 0 else '-'}{abs(point - 1)}"
