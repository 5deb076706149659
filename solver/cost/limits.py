"""The most of something that still fits."""

from collections.abc import Callable


def largest(fits: Callable[[int], bool], limit: int) -> int:
    """Return the largest number up to `limit` that fits, 0 if not even 1 does; `fits` must be monotone."""
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
