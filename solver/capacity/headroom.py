"""How much more traffic the same nodes carry: multiples in whole percent, by bisection, each planned anew."""

from solver.capacity.document import Headroom
from solver.capacity.options import Question
from solver.capacity.placement import fits
from solver.optimize.cpsat import SolverSettings

MOST_PERCENT = 10_000
"""Beyond so much of today's traffic nothing is looked for."""


def _scaled(question: Question, model: int | None, percent: int) -> Question:
    percents = [percent if model in {None, number} else 100 for number in range(len(question.demands))]
    return question.times(percents)


def largest_multiple(
    question: Question, model: int | None, settings: SolverSettings, low: int = 100, beyond: int = MOST_PERCENT + 1
) -> tuple[int, bool]:
    """Return the largest multiple below `beyond` of the traffic that fits, and whether one percent more does not.

    More of the same candidates never need less, so that what fits is an interval. `low` fits.
    """
    verdicts: dict[int, bool | None] = {}

    def fit(percent: int) -> bool:
        verdicts[percent] = fits(_scaled(question, model, percent).problem(), settings)
        return verdicts[percent] is True

    step = max(1, low // 4)
    while low < beyond - 1 and fit(min(beyond - 1, low + step)):
        low, step = min(beyond - 1, low + step), 2 * step
    high = min([percent for percent, verdict in verdicts.items() if verdict is not True], default=beyond)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fit(middle) else (low, middle)
    return low, verdicts.get(high) is False


def headrooms(question: Question, settings: SolverSettings) -> tuple[Headroom, ...]:
    """Return the headroom of each model alone, the others as they are, and of all together.

    `question` fits as it is.
    """
    models: list[int | None] = [*range(len(question.demands)), None] if len(question.demands) > 1 else [None]
    found = []
    for model in models:
        percent, proven = largest_multiple(question, model, settings)
        name = None if model is None else question.demands[model].name
        found.append(Headroom(model=name, percent=percent, capped=percent == MOST_PERCENT, proven=proven))
    return tuple(found)
