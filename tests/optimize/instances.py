"""Small problems whose answers can be enumerated."""

from collections.abc import Iterator
from itertools import combinations_with_replacement, product

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
