"""Sizes as people write and read them: `40GB` is 40e9 bytes, `37GiB` is 37 * 2^30 bytes."""

import re

from pydantic import ByteSize, TypeAdapter, ValidationError

from solver.errors import BadInputError

GIB = 2**30

_BYTE_SIZE: TypeAdapter[ByteSize] = TypeAdapter(ByteSize)
_BARE_NUMBER = re.compile(r"\s*[0-9.]+\s*")
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
    if _BARE_NUMBER.fullmatch(text):
        raise BadInputError(f"the size {text.strip()!r} has no unit.", where=flag, mend=example)
    try:
        size = int(_BYTE_SIZE.validate_python(text.strip()))
    except (ValidationError, ValueError, OverflowError):
        raise BadInputError(f"{text!r} is not a size.", where=flag, mend=example) from None
    if size <= 0:
        raise BadInputError(f"the size {text!r} is not positive.", where=flag, mend=example)
    return size


def format_size(size: int, *, binary: bool = False, digits: int = 2) -> str:
    """Return bytes in the largest fitting unit: `11.87 GB`, or `11.05 GiB` with `binary`."""
    for unit, scale in _BINARY if binary else _DECIMAL:
        if abs(size) >= scale:
            return f"{size / scale:.{digits}f} {unit}"
    return f"{size} B"


def format_size_both(size: int) -> str:
    """Return bytes in both unit systems and exactly: `12.00 GB = 11.18 GiB (12,000,000,000 B)`."""
    return f"{format_size(size)} = {format_size(size, binary=True)} ({size:,} B)"


def format_count(count: int) -> str:
    """Return a count of elements the way models are named: `8.19 B`, `135 M`."""
    for unit, scale in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return str(count)


def ceil_div(numerator: int, denominator: int) -> int:
    """Return the quotient rounded up, in exact integers."""
    return -(-numerator // denominator)


def round_up(value: int, multiple: int) -> int:
    """Return the least multiple of `multiple` that is not below `value`."""
    return ceil_div(value, multiple) * multiple
