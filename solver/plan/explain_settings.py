"""Why not this algorithm or this KV cache, and what the plan is with it."""

from dataclasses import dataclass
from typing import Any, Literal

from solver.catalog import Catalog
from solver.errors import PlannerError
from solver.plan.choices import find_choices
from solver.plan.context import Context
from solver.plan.explanation import Outcome, SettingAnswer
from solver.plan.insistence import insist
from solver.plan.request import PlanRequest
from solver.plan.settings import settings_target
from solver.plan.verdicts import needed, verdicts
from solver.rules.settings import Aspect, Settings, settings_refusals


@dataclass(frozen=True, slots=True)
class SettingsQuestion:
    """The settings that are asked about; None was not."""

    algorithms: tuple[str, ...] | None = None
    kv_cache_scheme: Literal["none", "fp8"] | None = None

    def __bool__(self) -> bool:
        return self.algorithms is not None or self.kv_cache_scheme is not None

    def check(self, catalog: Catalog) -> None:
        """Raise for an algorithm that the catalogue does not have."""
        for name in self.algorithms or ():
            catalog.algorithms.get(name)

    def left_open(self, request: PlanRequest) -> PlanRequest:
        """Return a request that leaves to the planner what is asked about."""
        update: dict[str, Any] = {}
        if self.algorithms is not None:
            update["algorithms"] = None
        if self.kv_cache_scheme is not None:
            update["kv_cache_scheme"] = None
        return request.model_copy(update=update)


@dataclass(frozen=True, slots=True)
class _Asked:
    """One setting: its flag, the row that has nothing else, and the fields of a request that insists on it."""

    flag: str
    aspect: Aspect
    row: Settings
    update: dict[str, Any]
    chosen_unasked: bool
    used: bool


def _algorithms(names: tuple[str, ...], context: Context, optimum: Outcome) -> _Asked:
    algorithms = tuple(context.catalog.algorithms.get(name) for name in names)
    known = ",".join(item.name for item in algorithms)
    return _Asked(
        flag=f"--algorithm {known or 'none'}",
        aspect="algorithms",
        row=Settings(algorithms, None),
        update={"algorithms": tuple(item.name for item in algorithms)},
        chosen_unasked=len(algorithms) < 2 and all(item.offered for item in algorithms),
        used=optimum.plan is not None and (optimum.plan.algorithm or "") == known,
    )


def _kv_cache(scheme: str, optimum: Outcome) -> _Asked:
    return _Asked(
        flag=f"--kv {scheme}",
        aspect="kv",
        row=Settings((), None if scheme == "none" else scheme),
        update={"kv_cache_scheme": scheme},
        chosen_unasked=True,
        used=optimum.plan is not None and (optimum.plan.kv_cache_scheme or "none") == scheme,
    )


def answer_settings(question: SettingsQuestion, context: Context, optimum: Outcome) -> tuple[SettingAnswer, ...]:
    """Return what stands against each setting asked about, and what the plan is with it."""
    asked = []
    if question.algorithms is not None:
        asked.append(_algorithms(question.algorithms, context, optimum))
    if question.kv_cache_scheme is not None:
        asked.append(_kv_cache(question.kv_cache_scheme, optimum))
    return tuple(_answer(one, context, optimum) for one in asked)


def _answer(asked: _Asked, context: Context, optimum: Outcome) -> SettingAnswer:
    try:
        schemes = find_choices(context).schemes
    except PlannerError:
        # Nothing may be chosen at all: the settings are judged all the same.
        schemes = frozenset()
    found = settings_refusals(asked.row, settings_target(context, schemes), {asked.aspect})
    against = verdicts(found, context.catalog)
    needs = needed(against)
    insisted = optimum if asked.used else insist(context.request.model_copy(update=asked.update), needs, context, ())
    return SettingAnswer(
        flag=asked.flag,
        refusals=against,
        needs=needs,
        chosen_unasked=asked.chosen_unasked,
        used=asked.used,
        insisted=insisted,
    )
