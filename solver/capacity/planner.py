"""The main job: from a fleet to which plan each model has, and where its replicas lie."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from solver.capacity.candidates import PLAN_SECONDS, Offers
from solver.capacity.describe import assumed, nodes_that_may_go, placed_nodes, served_model
from solver.capacity.document import CapacityPlan, CapacityProvenance, Headroom, StagePart
from solver.capacity.fleet import Fleet
from solver.capacity.fleet_file import read_fleet
from solver.capacity.headroom import headrooms
from solver.capacity.measured import Measured, check_models, read_measured, unused_note
from solver.capacity.options import Question
from solver.capacity.placement import Found, place
from solver.capacity.problem import PRICE_STEPS, Minimized, Problem
from solver.capacity.question import Asked, planned_anew, question_of, with_slower
from solver.capacity.refusal import refusal
from solver.catalog import Catalog
from solver.errors import BadInputError
from solver.optimize.cpsat import SolverSettings
from solver.version import __version__

PLACING_SECONDS = 10.0
"""Deterministic time of each solve of a placement."""

_QUICK_SECONDS = 2.0
"""The same of each solve that tells whether a multiple of the traffic fits."""


def document(
    asked: Asked, offers: Offers, question: Question, problem: Problem, found: Found, headroom: tuple[Headroom, ...]
) -> CapacityPlan:
    """Return the answer for a placement."""
    fleet, catalog, placement = asked.fleet, asked.catalog, found.placement
    served = tuple(
        served_model(load, question.demands[model], question.candidates[model], problem, placement, model)
        for model, load in enumerate(fleet.models)
    )
    nodes = placed_nodes(fleet, catalog, problem, placement)
    devices, price, _ = placement.costs(problem)
    shared = () if found.complete else ("devices are shared by few models alone: there are too many sets of them",)
    # What decides between equals is no objective of the user's.
    stages = tuple(
        StagePart(objective=stage.objective, value=stage.value, bound=stage.bound, optimal=stage.optimal)
        for stage in found.stages
        if stage.objective != "work"
    )
    return CapacityPlan(
        fleet=fleet,
        survive=asked.survive,
        minimized=asked.minimized,
        models=served,
        nodes=nodes,
        devices_used=devices,
        devices_total=sum(node.devices for node in problem.nodes),
        nodes_used=len(nodes),
        nodes_total=len(problem.nodes),
        price_per_hour=price / PRICE_STEPS if fleet.priced else None,
        survives=nodes_that_may_go(problem, placement),
        status="optimal"
        if found.complete and len(stages) > 1 and all(stage.optimal for stage in stages)
        else "feasible",
        stages=stages,
        candidates=sum(map(len, question.candidates)),
        headroom=headroom,
        assumptions=(*assumed(fleet, catalog, served), *offers.notes, *shared),
        provenance=CapacityProvenance(
            tool_version=__version__,
            profiles_sha256=catalog.fingerprint,
            ortools_version=version("ortools"),
            seed=asked.settings.seed,
            workers=1,
            time_limit=asked.settings.deterministic_seconds,
        ),
    )


def capacity(
    fleet: Fleet | Path | str,
    *,
    catalog: Catalog | None = None,
    survive: int = 0,
    minimize: Minimized | None = None,
    measured: Path | str | Sequence[Measured] = (),
    alternatives: int = 4,
    headroom: bool = True,
    seed: int = 0,
    time_limit: float = PLACING_SECONDS,
    tell: Callable[[str], None] = lambda _: None,
) -> CapacityPlan:
    """Return the plan of each model of a fleet, its replicas, and the devices that they lie on.

    Parameters
    ----------
    fleet
        What is to be served and what there is, or the path of a `fleet.yaml`.
    survive
        Nodes that may be lost, whichever they are, with all traffic still carried.
    minimize
        `devices` in use, or the `price` of the nodes in use; by default the price where every node has one.
    measured
        Throughput that replaces estimates: rows, or the path of a CSV file.
    alternatives
        Plans that `solve` is asked for, for each layout of a replica.
    headroom
        Whether it is searched how much more traffic would fit.
    time_limit
        Deterministic seconds for each solve.
    tell
        Called with what is done next.

    Raises
    ------
    PlannerError
        If the fleet cannot be read, a model cannot be planned for, or the traffic does not fit.
    VerificationError
        If a placement fails its own re-check; it carries the problem as JSON.

    """
    catalog = catalog or Catalog()
    if not isinstance(fleet, Fleet):
        fleet = read_fleet(Path(fleet))
    rows = read_measured(Path(measured), catalog) if isinstance(measured, str | Path) else measured
    if minimize == "price" and not fleet.priced:
        raise BadInputError("not every node has a price.", where="--minimize price", mend="Give each a price_per_hour.")
    check_models(rows, list(dict.fromkeys(name for load in fleet.models for name in (load.name, load.model))))
    settings = SolverSettings(seed=seed, deterministic_seconds=time_limit)
    asked = Asked(fleet, catalog, survive, minimize or ("price" if fleet.priced else "devices"), settings)
    offers = Offers(catalog, alternatives, seed, min(PLAN_SECONDS, time_limit), rows, tell)
    question = question_of(asked, offers)
    unused = unused_note(rows, offers.used)
    offers.notes.extend([unused] if unused else [])
    problem = question.problem()
    tell("placing replicas")
    found = place(problem, settings)
    if found is None and any(load.min_tokens_per_second is not None for load in fleet.models):
        # What clashes with a floor on speed, and what a lower one would give, only slower plans can tell.
        question = with_slower(asked, offers, question)
        problem = question.problem()
        found = place(problem, settings)
    if found is None:
        tell("looking for what clashes, and what helps")
        raise refusal(fleet, question, settings, partial(planned_anew, asked, offers, question))
    tell("looking for how much more traffic fits")
    quick = replace(settings, deterministic_seconds=min(time_limit, _QUICK_SECONDS))
    return document(asked, offers, question, problem, found, headrooms(question, quick) if headroom else ())
