"""The optimizer's table for the docs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.optimizer_case import LEAD, Baseline, Case

DOCUMENT = Path(__file__).parent.parent / "docs" / "optimizer.md"
COLUMNS = (
    "model",
    "sensitivities",
    "units",
    "unequal",
    "options",
    "budget",
    "build s",
    "front points",
    "front s",
    "ours s",
    "CBC s",
    "HiGHS s",
    "gap of CBC",
    "gap of HiGHS",
)
_LEFT = 2

_TEXT = """# The optimizer, beside CBC and HiGHS

Written by `python -m bench optimizer` on {cpus} processors ({machine}), with
{versions}.

Every problem is a model's own: layers, schemes and exact bytes on a device, no KV quantization, no algorithm. *prior*
has the sensitivities of the planner's prior, under which most units of a role are equal and are counted; *drawn* gives
every unit a log-normal factor of its own. *Unfused* models decide every projection of every expert by itself, as no
stack serves them: it is the size that is measured. *Budget* is where the limit lies between the smallest and the safest
plan. *Build* makes the problem from an analysis that is there; all solvers get the same one.

*Ours* is the least risk, and then the least bytes at that risk; the others find the least risk alone. Seconds of the
others are hand-off + solve (PuLP writes a file for CBC). All run with one thread and no gap allowed; what takes less
than half a second is the best of three. All answers are recomputed in integers. CBC and HiGHS have {seconds:g} s in the
solver for each budget, or as long as it takes to tell whether ours is ahead: {lead} times ours for CBC from 2,000
unequal units on, at most 60 s. `>` means not proven; CBC overruns its limit on the largest. *Gap* is how far the risk
that the other had found when ours was proven lies above ours. *Front* is every plan that none beats in bytes and risk;
`-` where the planner stops merging, after so many seconds, and solves single budgets instead.

"""
_MARKS = {
    "worse": "optimum claimed, worse",
    "better": "better",
    "over the limit": "over the limit",
    "no plan": "no plan",
}


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def _other(other: Baseline) -> str:
    late = "" if other.run.claims_optimum else "> "
    mark = f" ({_MARKS[other.verdict]})" if other.verdict in _MARKS else ""
    return f"{late}{_seconds(other.run.hand_off_seconds)} + {_seconds(other.run.solve_seconds)}{mark}"


def _gap(gap: float | None) -> str:
    return "no plan yet" if gap is None else "0" if gap == 0 else f"{gap:.1e}"


def cells(case: Case) -> tuple[str, ...]:
    """Return the line of one case."""
    return (
        case.shape,
        case.sensitivities,
        f"{case.units:,}",
        f"{case.unequal_units:,}",
        f"{case.options:,}",
        f"{case.percent} %",
        _seconds(case.build_seconds),
        "-" if case.front_points is None else f"{case.front_points:,}",
        _seconds(case.front_seconds),
        ("" if case.ours.claims_optimum else "> ") + _seconds(case.ours.seconds),
        *(_other(other) for other in case.baselines.values()),
        *(_gap(case.gap(name)) for name in case.baselines),
    )


def _lines(cases: Sequence[Case]) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|" + "---|" * _LEFT + "--:|" * (len(COLUMNS) - _LEFT)
    for case in cases:
        yield f"| {' | '.join(cells(case))} |"


def document(cases: Sequence[Case], where: Mapping[str, str | int], seconds: float, notes: Mapping[str, str]) -> str:
    """Return the page: how it was measured, the table, and what is measured besides."""
    versions = ", ".join(f"{name} {where[name]}" for name in ("ortools", "pulp", "CBC", "highspy", "numpy", "python"))
    text = _TEXT.format(versions=versions, cpus=where["cpus"], machine=where["machine"], seconds=seconds, lead=LEAD)
    closing = (
        f"\nThe largest problem at 35 %, built and solved in a fresh process: {notes['largest']} at the peak.\n"
        f"The front of 70B drawn and the assignments of 1,000 budgets from it: {notes['budgets']}, checks included.\n"
    )
    return text + "\n".join(_lines(cases)) + "\n" + closing
