"""Which numbers of slots a replica may have: few, so that each is planned for, and those that matter."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from solver.capacity.speed import Speed, Traffic, estimated
from solver.catalog import Catalog
from solver.cost.limits import largest
from solver.plan.footprints import FootprintReport

MOST_SLOTS = 4096
"""Sequences of one replica at most."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Roughly the speed of the smallest bill: a step reads all of its weights, and the cache of each sequence."""

    most: int
    """Sequences that fit a device."""
    output_tokens: int
    prefill_seconds: float | None
    """Of one prompt; None where times are not known, as are the others then."""
    weights_seconds: float = 0.0
    cache_seconds: float = 0.0
    """Of one sequence."""

    def speed(self, slots: int) -> Speed:
        """Return what is roughly the speed with so many slots."""
        step = self.weights_seconds + slots * self.cache_seconds
        return estimated(slots, self.output_tokens, self.prefill_seconds or 0.0, step)


def outline(report: FootprintReport, output_tokens: int, share: Fraction, catalog: Catalog) -> Outline:
    """Return the outline of bills with one slot; `share` is the prompt's of the whole context."""
    most = min(MOST_SLOTS, max(bill.highest_concurrency for bill in report.bills))
    least = min(report.bills, key=lambda bill: bill.footprint.total_bytes)
    bandwidth = catalog.hardware.get(report.service.hardware).bandwidth
    if bandwidth is None or least.prefill_seconds is None:
        return Outline(most, output_tokens, None)
    sustained = bandwidth.value * catalog.backends.get(report.service.backend).bandwidth_fraction.value
    parts = least.footprint
    return Outline(
        most,
        output_tokens,
        float(share) * least.prefill_seconds,
        parts.weights_bytes / sustained,
        parts.kv_cache_bytes / sustained,
    )


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()


def slot_numbers(found: Outline, traffic: Traffic) -> tuple[int, ...]:
    """Return the numbers of slots to plan for, descending.

    The most that memory and the floor on speed allow; what few replicas need to carry the traffic, where these need
    the least of a device's time; and between.
    """
    if not found.most:
        return ()
    if found.prefill_seconds is None:
        users = traffic.concurrency or 1
        return tuple(sorted({min(found.most, -(-users // replicas)) for replicas in (1, 2, 4)}, reverse=True))

    def quick(slots: int) -> bool:
        return traffic.floor is None or traffic.floor * found.speed(slots).user_seconds <= 1

    most = largest(quick, found.most) or 1
    fewest = traffic.replicas(found.speed(most))

    def needed(replicas: int) -> int:
        return 1 + largest(lambda slots: traffic.replicas(found.speed(slots)) > replicas, most - 1)

    def numbers() -> Iterator[int]:
        yield most
        for replicas in (fewest, 2 * fewest):
            yield min(most, _power_of_two(needed(replicas)))
            yield min(most, _power_of_two(_least_busy(found, traffic, replicas, most)))

    asked = sorted(set(numbers()))
    between = isqrt(asked[0] * most)
    return tuple(sorted({*asked, _power_of_two(between)} if len(asked) < 3 and between < most else asked, reverse=True))


def _least_busy(found: Outline, traffic: Traffic, replicas: int, most: int) -> int:
    """Return the number of slots with which so many replicas need the least time.

    More slots serve requests in fewer steps, and need more time for the floor on speed.
    """
    if traffic.floor is None or traffic.requests_per_second is None:
        return most
    rate, floor = traffic.requests_per_second, traffic.floor

    def slower_than_needed(slots: int) -> bool:
        speed = found.speed(slots)
        return rate / (replicas * speed.requests_per_second) > floor * speed.user_seconds

    return largest(slower_than_needed, most) or 1
