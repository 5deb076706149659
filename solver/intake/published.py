"""Compares a published number of elements with an inventory, and names what makes the difference."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from pydantic import Field

from solver.catalog.tensors import StoredTensors
from solver.catalog.zoo import ZooModel
from solver.intake.inventory import Difference, Inventory
from solver.intake.record import Record

TIED_HEAD = "tied head stored twice"
ROTARY = "rotary buffers of old checkpoints"
MASKS = "causal masks of old checkpoints"

_TRIFLE = 10**-6
"""What may stay unexplained beside matching causes, as a part of the published count."""


class Explanation(Record):
    """What a published count has beyond the built model, cause by cause, and what no cause explains."""

    causes: tuple[Difference, ...]
    unexplained: int


class PublishedCount(Explanation):
    """The elements that are published of a model's checkpoint, and what they have beyond the built model."""

    elements: int = Field(gt=0, description="stored elements as the hub counts them")
    source: str


def _key_elements(inventory: Inventory) -> int:
    return max((group.key_elements for group in inventory.caches if group.dtype is None), default=0)


def _guesses(inventory: Inventory) -> list[Difference]:
    """Return what old checkpoints may hold besides, whatever their configurations say."""
    found = []
    if inventory.tied_embeddings:
        found.append(Difference(cause=TIED_HEAD, elements=inventory.vocab_size * inventory.hidden_size))
    # Some derive the width of a rotary part from the hidden size, whatever the latent attention they have.
    widths = {_key_elements(inventory), inventory.hidden_size // (inventory.attention_heads or 1)}
    for frequencies in sorted({width // part for width in widths for part in (2, 4)} - {0}):
        found.append(Difference(cause=ROTARY, elements=frequencies * inventory.blocks))
        found.append(Difference(cause=ROTARY, elements=frequencies))
    if inventory.max_context is not None:
        found.append(Difference(cause=MASKS, elements=inventory.blocks * inventory.max_context**2))
    return found


def _total(causes: Iterable[Difference]) -> int:
    return sum(cause.elements or 0 for cause in causes)


def _subsets(causes: Sequence[Difference]) -> list[tuple[Difference, ...]]:
    return [chosen for number in range(len(causes) + 1) for chosen in combinations(causes, number)]


def explain(published: int, inventory: Inventory, *, estimated: bool = False) -> Explanation:
    """Return the fewest causes that lead from `elements_total` to a published count.

    A count that is estimated is that of the parameters, whatever the checkpoint holds of them: it has no causes.

    Hub counts leave scales out as often as not: any of the causes that the inventory is sure of may be in a count.
    Guesses are among them only where they lead to it exactly. Where none do, the causes nearest to it are named if
    they miss it by a trifle, else all that the inventory is sure of; the rest stays unexplained.
    """
    difference = published - inventory.elements_total
    if estimated:
        return Explanation(causes=(), unexplained=difference)
    sure = [cause for cause in inventory.differences if cause.elements is not None]
    exact = (chosen for chosen in _subsets([*sure, *_guesses(inventory)]) if _total(chosen) == difference)
    nearest = next(exact, None)
    if nearest is None:
        nearest = min(_subsets(sure), key=lambda chosen: abs(difference - _total(chosen)))
    if abs(difference - _total(nearest)) > published * _TRIFLE:
        nearest = tuple(sure)
    return Explanation(causes=nearest, unexplained=difference - _total(nearest))


def published_count(model: ZooModel, inventory: Inventory, facts: StoredTensors) -> PublishedCount | None:
    """Return what is published of a bundled model's checkpoint, with causes and their meanings; None if nothing is."""
    if model.published_elements is None:
        return None
    found = explain(model.published_elements, inventory)
    causes = (cause.model_copy(update={"meaning": facts.meaning(cause.cause)}) for cause in found.causes)
    return PublishedCount(
        causes=tuple(causes),
        unexplained=found.unexplained,
        elements=model.published_elements,
        source=model.published_elements_source or model.source,
    )


def possible_differences(inventory: Inventory, model_type: str, facts: StoredTensors) -> tuple[Difference, ...]:
    """Return what a checkpoint may hold beside what its configuration tells, each with its elements.

    Empty where headers tell what it holds. Bytes are those in the model's own type, None where that may be another.
    """
    if inventory.by_headers:
        return ()
    head = inventory.vocab_size * inventory.hidden_size if inventory.tied_embeddings else 0
    elements = {
        TIED_HEAD: head,
        ROTARY: inventory.blocks * _key_elements(inventory) // 2,
        MASKS: inventory.blocks * (inventory.max_context or 0) ** 2,
    }
    return tuple(
        Difference(
            cause=cause,
            elements=count,
            meaning=facts.meaning(cause),
            bytes=count * inventory.dtype_bytes if cause == TIED_HEAD else None,
        )
        for cause, count in elements.items()
        if count and (cause == TIED_HEAD or facts.may_hold(cause, model_type))
    )
