"""What would make a fleet fit: single changes, the smallest that help, each solved like any other fleet."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from solver.capacity.clash import SURVIVE, Claim
from solver.capacity.fleet import Fleet, loss_of
from solver.capacity.headroom import largest_multiple
from solver.capacity.options import Question
from solver.capacity.placement import fits, place
from solver.cost.limits import largest
from solver.errors import PlannerError, Repair
from solver.optimize.cpsat import SolverSettings

_MOST_NODES = 1024
_EIGHTHS = 8

Anew = Callable[[int, Mapping[str, Any]], Question]
"""Gives the question with the candidates that one model has when fields of its load are changed."""


@dataclass(frozen=True)
class Repairs:
    """Looks for changes of a question that has no answer."""

    fleet: Fleet
    question: Question
    settings: SolverSettings
    anew: Anew

    def _fits(self, question: Question) -> bool:
        return fits(question.problem(), self.settings) is True

    def _solved(self, flag: str, value: str | None, question: Question, *, leaves_out: bool = False) -> Repair | None:
        """Return a change with the fullest device and the greatest loss of its placement, or None if it has none."""
        problem = question.problem()
        try:
            found = place(problem, self.settings)
        except PlannerError:
            return None
        if found is None:
            return None
        placement = found.placement
        chosen = [
            candidates[placement.option(problem, model).candidate]
            for model, candidates in enumerate(question.candidates)
        ]
        fullest = max(
            sum(placement.option(problem, model).size_bytes for model in models)
            for models in placement.on(problem).values()
        )
        return Repair(flag, value, leaves_out, fullest, max(candidate.loss for candidate in chosen))

    def nodes(self) -> Iterator[Repair | None]:
        """Yield the fewest nodes of each kind that do."""
        for number, group in enumerate(self.fleet.nodes):

            def lacks(more: int, number: int = number, count: int = group.count) -> bool:
                return not self._fits(self.question.with_nodes(number, count + more))

            step = 1
            while step < _MOST_NODES and lacks(step):
                step *= 2
            if step < _MOST_NODES:
                count = group.count + 1 + largest(lacks, step - 1)
                yield self._solved(f"{group.name}.count", str(count), self.question.with_nodes(number, count))

    def risk(self, model: int) -> Iterator[Repair | None]:
        """Yield the tightest limit on the loss, in percent of perplexity, with which the fleet fits."""
        demand = self.question.demands[model]
        losses = sorted(
            {item.loss for item in self.question.candidates[model] if item.loss > (demand.most_loss or 0.0)}
        )

        def at_most(loss: float) -> Question:
            return self.question.replaced(model, replace(demand, most_loss=loss))

        low = largest(lambda number: not self._fits(at_most(losses[number - 1])), len(losses))
        if low < len(losses):
            # Rounded up, so that what is written into a file allows this plan.
            text = f"{math.ceil(10**4 * 100 * math.expm1(losses[low])) / 10**4:g}%"
            yield self._solved(f"{demand.name}.max_risk", text, at_most(max(loss_of(text), losses[low])))

    def floor(self, model: int) -> Iterator[Repair | None]:
        """Yield the highest whole floor on the tokens of a user with which the fleet fits."""
        demand = self.question.demands[model]
        flag = f"{demand.name}.min_tokens_per_second"
        # Whatever the floor, these are among what is compared for it.
        slower = self.anew(model, {"min_tokens_per_second": None})

        def at_least(tokens: int) -> Question:
            return slower.replaced(model, replace(demand, traffic=replace(demand.traffic, floor=Fraction(tokens))))

        asked = math.ceil(demand.traffic.floor or 1) - 1
        tokens = largest(lambda number: self._fits(at_least(number)), asked)
        if tokens:
            yield self._solved(flag, str(tokens), at_least(tokens))

    def traffic(self, model: int) -> Iterator[Repair | None]:
        """Yield the most of a model's traffic that fits, in whole percent."""
        load = self.fleet.models[model]
        if not self._fits(self._percent(model, 1)):
            return
        percent, _ = largest_multiple(self.question, model, self.settings, low=1, beyond=100)
        question = self._percent(model, percent)
        traffic = question.demands[model].traffic
        if load.concurrency is None and traffic.requests_per_second is not None:
            flag, value = "requests_per_second", f"{float(traffic.requests_per_second):g}"
        elif load.requests_per_second is None:
            flag, value = "concurrency", str(traffic.concurrency)
        else:
            flag, value = "traffic", f"{percent}%"
        yield self._solved(f"{load.name}.{flag}", value, question)

    def _percent(self, model: int, percent: int) -> Question:
        return self.question.times([percent if number == model else 100 for number in range(len(self.fleet.models))])

    def prompt(self, model: int) -> Iterator[Repair | None]:
        """Yield the longest prompt, in eighths of today's, with which the fleet fits; each length is planned for."""
        load = self.fleet.models[model]
        lengths = [load.prompt_tokens * part // _EIGHTHS for part in range(1, _EIGHTHS)]

        def shorter(tokens: int) -> Question:
            return self.anew(model, {"prompt_tokens": tokens})

        def of_length(number: int) -> bool:
            return lengths[number - 1] > 0 and self._fits(shorter(lengths[number - 1]))

        try:
            found = largest(of_length, len(lengths))
            if found:
                tokens = lengths[found - 1]
                yield self._solved(f"{load.name}.prompt_tokens", str(tokens), shorter(tokens))
        except PlannerError:
            return

    def survive(self) -> Iterator[Repair | None]:
        """Yield the most nodes that may be lost."""
        for lost in range(self.question.survive - 1, -1, -1):
            question = replace(self.question, survive=lost)
            if self._fits(question):
                yield self._solved(SURVIVE, str(lost), question)
                return

    def find(self, clash: Sequence[Claim]) -> tuple[Repair, ...]:
        """Return the changes that help, least loss first: only what is part of the clash can."""
        tries = {"max_risk": self.risk, "min_tokens_per_second": self.floor, "traffic": self.traffic}
        found: list[Repair | None] = []
        for claim in clash:
            if claim.model is not None:
                found += tries[claim.part](claim.model)
            else:
                found += self.survive() if claim.part == SURVIVE else self.nodes()
        for model in dict.fromkeys(claim.model for claim in clash):
            found += [] if model is None else self.prompt(model)
        helping = [repair for repair in found if repair is not None]
        return tuple(sorted(helping, key=lambda repair: (repair.delta_nll, repair.footprint_bytes, repair.flag)))
