"""Sizes as people write and read them: `40GB` is 40e9 bytes, `37GiB` is 37 * 2^30 bytes."""

import re
from fractions import Fraction

from pydantic import ByteSize, TypeAdapter

from solver.errors import BadInputError

GIB = 2**30

_BYTE_SIZE: TypeAdapter[ByteSize] = TypeAdapter(ByteSize)
_BARE_NUMBER = re.compile(r"[+-]?[0-9.]+")
_SIZE = re.compile(r"(?P<amount>[0-9]+(\.[0-9]+)?)\s*(?P<unit>[kmgtp]i?b?|b)", re.IGNORECASE)
_DECIMAL = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
_BINARY = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def parse_size(text: str, *, flag: str = "--budget") -> int:
    """Return the bytes of a size such as `40GB` or `37.5GiB`.

    Raises
    ------
    BadInputError
        If the unit is missing (GB and GiB differ by 7 %, so none is assumed), unknown, or the size is not
        positive.

    """
    example = "Write for example 40GB (40e9 bytes) or 40GiB (40 * 2^30 bytes)."
    if _BARE_NUMBER.fullmatch(text.strip()):
        raise BadInputError(f"the size {text.strip()!r} has no unit.", where=flag, mend=example)
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise BadInputError(f"{text!r} is not a size.", where=flag, mend=example)
    # pydantic knows the units; the amount is exact only as a fraction: 8.19GB is no byte less.
    size = int(Fraction(match["amount"]) * _BYTE_SIZE.validate_python(f"1{match['unit']}"))
    if size <= 0:
        raise BadInputError(f"the size {text!r} is not positive.", where=flag, mend=example)
    return size


def parse_tokens(text: str) -> int:
    """Return tokens of `8192` or `8k` (1k is 1024).

    Raises
    ------
    BadInputError
        If the text is neither.

    """
    number = text.strip().lower()
    scale = 1024 if number.endswith("k") else 1
    digits = number.removesuffix("k")
    if not digits.isdecimal() or int(digits) == 0:
        raise BadInputError(
            f"{text!r} is no number of tokens.", where="--context", mend="Write for example 8192 or 8k."
        )
    return int(digits) * scale


def format_size(size: int, *, binary: bool = False, digits: int = 2) -> str:
    """Return bytes in the largest fitting unit: `11.87 GB`, or `11.05 GiB` with `binary`."""
    base = 1024 if binary else 1000
    for unit, scale in _BINARY if binary else _DECIMAL:
        # What would round to a whole larger unit is written in that unit.
        if abs(size) >= base and round(abs(size) * base / scale, digits) >= base:
            return f"{size / scale:.{digits}f} {unit}"
    return f"{size} B"


def format_size_both(size: int) -> str:
    """Return bytes in both unit systems and exactly: `12.00 GB = 11.18 GiB (12,000,000,000 B)`."""
    return f"{format_size(size)} = {format_size(size, binary=True)} ({size:,} B)"


def format_count(count: int) -> str:
    """Return a count of elements the way models are named: `8.19 B`, `135 M`."""
    for unit, scale in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= 1000 and float(f"{count / scale:.3g}") >= 1:
            return f"{count / scale:.3g} {unit}"
    return str(count)


def ceil_div(numerator: int, denominator: int) -> int:
    """Return the quotient rounded up, in exact integers."""
    return -(-numerator // denominator)


def round_up(value: int, multiple: int) -> int:
    """Return the least multiple of `multiple` that is not below `value`."""
    return ceil_div(value, multiple) * multiple
