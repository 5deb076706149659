"""Compares a published number of elements with an inventory, and names what makes the difference."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from solver.intake.inventory import Difference, Inventory

TIED_HEAD = "tied head stored twice"
ROTARY = "rotary buffers of old checkpoints"
MASKS = "causal masks of old checkpoints"

_TRIFLE = 10**-6
"""What may stay unexplained beside matching causes, as a part of the published count."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a published count has beyond the built model, cause by cause, and what no cause explains."""

    causes: tuple[Difference, ...]
    unexplained: int


def _candidates(inventory: Inventory) -> list[Difference]:
    """Return the causes that a count may or may not include: hub counts leave scales out as often as not."""
    found = [cause for cause in inventory.differences if cause.elements is not None]
    if inventory.tied_embeddings:
        found.append(Difference(cause=TIED_HEAD, elements=inventory.vocab_size * inventory.hidden_size))
    key_elements = max((group.key_elements for group in inventory.caches if group.dtype is None), default=0)
    for frequencies in {key_elements // 2, key_elements // 4} - {0}:
        found.append(Difference(cause=ROTARY, elements=frequencies * inventory.blocks))
        found.append(Difference(cause=ROTARY, elements=frequencies))
    if inventory.max_context is not None:
        found.append(Difference(cause=MASKS, elements=inventory.blocks * inventory.max_context**2))
    return found


def _total(causes: Iterable[Difference]) -> int:
    return sum(cause.elements or 0 for cause in causes)


def explain(published: int, inventory: Inventory) -> Explanation:
    """Return the fewest causes that lead from `elements_total` to a published count, exactly or but for a trifle.

    Where none do, the causes that the inventory is sure of are named and the rest stays unexplained.
    """
    difference = published - inventory.elements_total
    candidates = _candidates(inventory)
    subsets = [chosen for number in range(len(candidates) + 1) for chosen in combinations(candidates, number)]
    nearest = min(subsets, key=lambda chosen: abs(difference - _total(chosen)))
    rest = difference - _total(nearest)
    if abs(rest) > published * _TRIFLE:
        nearest = inventory.differences
        rest = difference - _total(nearest)
    return Explanation(nearest, rest)
