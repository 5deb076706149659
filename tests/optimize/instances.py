"""Small problems whose answers can be enumerated."""

from collections.abc import Iterator
from itertools import combinations_with_replacement, product

import numpy as np
from hypothesis import strategies as st

from solver.intake.inventory import LayerFamily
from solver.intake.record import BlockRange
from solver.optimize.problem import Counts, Option, Problem, UnitClass, Vector
from solver.rules.settings import Settings
from solver.rules.units import Member, Unit

PLAIN = Settings((), None)


def unit(name: str, block: int) -> Unit:
    family = LayerFamily(
        name=f"model.layers.{{block}}.{name}",
        role="down",
        in_features=64,
        out_features=64,
        blocks=(BlockRange(first=0, last=99),),
    )
    return Unit(f"block {block} {name}", (Member(family, block),))


def unit_class(name: str, count: int, options: list[Vector]) -> UnitClass:
    return UnitClass(
        tuple(unit(name, block) for block in range(count)),
        tuple(Option(f"scheme{number}", *vector) for number, vector in enumerate(options)),
    )


def problem(classes: list[UnitClass], fixed: Vector = (0, 0, 0)) -> Problem:
    return Problem(PLAIN, tuple(classes), fixed, kv_cache_bytes=0, overhead_bytes=0)


def all_counts(instance: Problem) -> Iterator[Counts]:
    """Yield every way to give the units of each class an option."""
    per_class = []
    for part in instance.classes:
        ways = [
            tuple(chosen.count(number) for number in range(len(part.options)))
            for chosen in combinations_with_replacement(range(len(part.options)), part.count)
        ]
        per_class.append(ways)
    yield from product(*per_class)


# Sums that straddle 2^31, 2^32 and 2^43, with odd numbers so that no divisor hides the size.
_SCALES = st.sampled_from([10**3, 2**29, 2**30, 2**31, 2**40])


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw a problem of up to four classes with odd byte counts around the word sizes."""
    scale = draw(_SCALES)
    classes = []
    for number in range(draw(st.integers(1, 4))):
        vectors = draw(
            st.lists(
                st.tuples(st.integers(1, scale), st.integers(0, 10**6), st.integers(0, scale)), min_size=1, max_size=4
            )
        )
        odd = [(2 * size + 1, risk, read) for size, risk, read in vectors]
        classes.append(unit_class(f"part{number}", draw(st.integers(1, 3)), odd))
    return problem(classes, fixed=(draw(st.integers(0, scale)), 0, 0))


TOTALS = (10**4, 2**31, 2**32, 2**43)
"""What the bytes of an instance sum to, about."""


def nasty(seed: int) -> Problem:
    """Return a problem that can be enumerated, with odd bytes that sum to about a word size and no common divisor."""
    rng = np.random.default_rng(seed)
    parts = [(int(rng.integers(1, 4)), int(rng.integers(1, 5))) for _ in range(int(rng.integers(1, 5)))]
    scale = TOTALS[seed % len(TOTALS)] / sum(count for count, _ in parts)
    spread = rng.choice([1e-6, 0.1, 0.9])
    highest = int(rng.choice([3, 50, 10**6, 10**12]))
    classes = []
    for number, (count, options) in enumerate(parts):
        sizes = (scale * (1 + spread * rng.uniform(-1, 1, options))).astype(int) // 2 * 2 + 1
        # Larger options tend to be safer, as real ones are.
        risks = highest * rng.random(options) / (1 + np.argsort(np.argsort(sizes)))
        times = rng.integers(0, 10**6, options)
        vectors = list(zip(sizes.tolist(), risks.astype(int).tolist(), times.tolist(), strict=True))
        classes.append(unit_class(f"part{number}", count, vectors))
    return problem(classes, fixed=(int(rng.integers(0, 1000)), int(rng.integers(0, 9)), 0))


def large(units: int, *, shapes: int | None = None, seed: int = 0) -> Problem:
    """Return a problem of separate units with log-normal sensitivities under six schemes of 3.5 to 16 bits.

    With `shapes`, units have one of so many sizes, as the layers of a model do; else each has its own odd sizes.
    """
    rng = np.random.default_rng(seed)
    bits = np.array([3.5, 4.25, 4.5, 6.5, 8.25, 16])
    known = rng.integers(10**6, 10**8, shapes or 1)
    names = (unit("layer", 0),)
    classes = []
    for _ in range(units):
        elements = rng.choice(known) if shapes else rng.integers(10**6, 10**8)
        sizes = (elements * bits / 8 * (1 if shapes else rng.uniform(0.97, 1.03, 6))).astype(int) // 2 * 2 + 1
        risks = rng.lognormal(0, 1.5) * 1e9 * 4.0 ** (3 - bits) * rng.uniform(0.8, 1.2, 6) * (bits < 16)
        vectors = zip(sizes.tolist(), risks.astype(int).tolist(), (sizes // 3).tolist(), strict=True)
        classes.append(
            UnitClass(names, tuple(Option(f"{bit:g} bits", *v) for bit, v in zip(bits, vectors, strict=True)))
        )
    return problem(classes, fixed=(12345, 0, 0))


def within(instance: Problem, part: float) -> int:
    """Return the bytes at a part of the range from the smallest to the largest assignment."""
    ends = [
        instance.fixed[0] + sum(pick(o.size_bytes for o in c.options) * c.count for c in instance.classes)
        for pick in (min, max)
    ]
    return ends[0] + round((ends[1] - ends[0]) * part)
