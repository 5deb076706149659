"""Refusals as they are told: the rule, its words, and what sets it aside."""

from collections.abc import Iterable, Sequence

from solver.catalog import Catalog
from solver.catalog.rule import Yields
from solver.plan.explanation import RuleVerdict
from solver.rules.refusal import Refusal

_HARDEST_FIRST: tuple[Yields, ...] = ("nothing", "force", "request")


def verdicts(found: Iterable[Refusal], catalog: Catalog) -> tuple[RuleVerdict, ...]:
    """Return refusals with what their rules say, each once."""
    return tuple(
        RuleVerdict(
            rule=refusal.rule,
            family=rule.family,
            sentence=refusal.sentence,
            yields_to=rule.yields_to,
            source=rule.source,
        )
        for refusal in dict.fromkeys(found)
        for rule in (catalog.rules.get(refusal.rule),)
    )


def needed(against: Sequence[RuleVerdict]) -> Yields | None:
    """Return what it takes to set all of these rules aside; None where there are none."""
    return next((step for step in _HARDEST_FIRST if any(verdict.yields_to == step for verdict in against)), None)
