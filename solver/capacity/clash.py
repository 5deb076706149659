"""The answer when a fleet does not fit: the fewest demands that clash."""

from dataclasses import dataclass, replace

from solver.capacity.fleet import Fleet, ModelLoad
from solver.capacity.options import Question
from solver.capacity.placement import fits
from solver.errors import ClashingRule
from solver.optimize.cpsat import SolverSettings
from solver.units import format_size

SURVIVE, NODES = "--survive", "nodes"
PARTS = ("max_risk", "min_tokens_per_second", "traffic")


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that is asked: of a model, or of the fleet as a whole."""

    part: str
    model: int | None = None


def claims_of(fleet: Fleet, question: Question) -> tuple[Claim, ...]:
    """Return everything that is asked, in the order in which it is given up."""
    found = []
    for model, load in enumerate(fleet.models):
        asked = {"max_risk": load.max_risk, "min_tokens_per_second": load.min_tokens_per_second, "traffic": True}
        found += [Claim(part, model) for part in PARTS if asked[part] is not None]
    return (*found, *([Claim(SURVIVE)] if question.survive else []), Claim(NODES))


def _clashes(question: Question, kept: frozenset[Claim], every: tuple[Claim, ...], settings: SolverSettings) -> bool:
    """Return whether it is proven that what is kept does not hold together."""
    for claim in every:
        if claim in kept:
            continue
        if claim.model is not None:
            question = question.replaced(claim.model, question.demands[claim.model].without(claim.part))
        elif claim.part == SURVIVE:
            question = replace(question, survive=0)
    if Claim(NODES) in kept:
        return fits(question.problem(), settings) is False
    # Of nodes without end each model has its own.
    return not all(
        any(candidate.keeps(demand.traffic.floor, demand.most_loss) for candidate in candidates)
        for demand, candidates in zip(question.demands, question.candidates, strict=True)
    )


def find_clash(fleet: Fleet, question: Question, settings: SolverSettings) -> tuple[Claim, ...]:
    """Return demands that clash, of which none can be left out: without it the others hold together."""
    every = claims_of(fleet, question)
    kept = frozenset(every)
    models = [frozenset(claim for claim in every if claim.model == model) for model in range(len(fleet.models))]
    # Models that have no part in it go whole first, so that each demand is tried among few.
    for group in [*models, *(frozenset([claim]) for claim in every)]:
        if group <= kept and _clashes(question, kept - group, every, settings):
            kept -= group
    return tuple(claim for claim in every if claim in kept)


def _traffic(load: ModelLoad) -> str:
    parts = []
    if load.requests_per_second is not None:
        parts.append(f"{load.requests_per_second:g} requests a second")
    if load.concurrency is not None:
        parts.append(f"{load.concurrency} sequences at once")
    return f"{' and '.join(parts)}, {load.prompt_tokens} + {load.output_tokens} tokens each."


def told(claim: Claim, fleet: Fleet, question: Question) -> ClashingRule:
    """Return a demand as it is told."""
    if claim.model is not None:
        load = fleet.models[claim.model]
        sentences = {
            "max_risk": f"Predicted loss is at most {load.max_risk}.",
            "min_tokens_per_second": f"Each user gets at least {load.min_tokens_per_second} tokens a second.",
            "traffic": _traffic(load),
        }
        return ClashingRule(f"{load.name}.{claim.part}", sentences[claim.part])
    if claim.part == SURVIVE:
        return ClashingRule(f"{SURVIVE} {question.survive}", "Whichever nodes are lost, the rest carries all traffic.")
    rows = []
    for number, group in enumerate(fleet.nodes):
        node = next(node for node in question.nodes if node.group == number)
        devices = f"{node.devices} device{'s' * (node.devices > 1)}"
        rows.append(f"{group.count} x {group.name} with {devices} of {format_size(node.usable_bytes)}")
    return ClashingRule(NODES, f"There are {', '.join(rows)}.")
