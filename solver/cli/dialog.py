"""What is asked on a terminal: what is missing, which plan, and whether it is confirmed."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from solver.api import DEFAULT_GOAL, QUESTION, Answer, QuantPlan, decision_table, draft
from solver.catalog import Catalog
from solver.cli.changes import HELP, apply_change
from solver.cli.question import Question
from solver.errors import DeclinedError, PlannerError
from solver.report.alternatives import print_answer
from solver.report.console import answers, messages, read_line
from solver.report.decisions import print_plan
from solver.units import parse_size

T = TypeVar("T")

_DEFAULT_HARDWARE = "mi300x"
_ALL_MEMORY = "all it has"


def _complain(error: PlannerError) -> None:
    messages().print(str(error), markup=False)


def _ask(label: str, default: str, read: Callable[[str], T]) -> T:
    """Return what `read` makes of an answer; one that it refuses is asked for again."""
    while True:
        try:
            return read(read_line(label, default))
        except PlannerError as error:
            _complain(error)


def ask_for_hardware(catalog: Catalog) -> str:
    """Return the name of the accelerator that the user names."""
    return _ask("Accelerator", _DEFAULT_HARDWARE, lambda said: catalog.hardware.get(said).name)


def ask_for_the_rest(question: Question, catalog: Catalog, *, ask_goal: bool) -> Question:
    """Return the question with budget and goal, asked for where they were not typed."""

    def budget(said: str) -> Question:
        if said == _ALL_MEMORY:
            return question
        parse_size(said)
        return replace(question, budget=said)

    if question.budget is None:
        question = _ask("Budget of one device, 40GB or 40GiB", _ALL_MEMORY, budget)
    if question.goal is None and ask_goal:
        asked = question
        label = f"Goal: {', '.join(goal.name for goal in catalog.goals)}"
        question = _ask(label, DEFAULT_GOAL, lambda said: replace(asked, goal=catalog.goals.get(said).name))
    return question


def _ask_for_plan(answer: Answer) -> QuantPlan:
    def read(said: str) -> QuantPlan:
        return draft(answer, int(said) if said.strip().isdecimal() else 0)

    return _ask("Plan", str(answer.recommended), read)


def converse(
    question: Question, answer: Answer, choose: int | None, plan: Callable[[Question], Answer], catalog: Catalog
) -> QuantPlan:
    """Return the plan that the user says yes to; changes are planned again until then.

    Raises
    ------
    DeclinedError
        If the user says no.
    """
    chosen = draft(answer, choose) if choose is not None else _ask_for_plan(answer)
    while True:
        print_plan(chosen, decision_table(chosen, catalog), answers())
        said = read_line(f"{QUESTION} [yes/no/change]")
        if said.lower() in {"y", "yes"}:
            return chosen
        if said.lower() in {"n", "no"}:
            raise DeclinedError("no plan was confirmed, and nothing was written.")
        try:
            if said.isdecimal():
                chosen = draft(answer, int(said))
                continue
            changed = apply_change(question, said)
            answer = plan(changed)
        except PlannerError as error:
            _complain(error)
            if error.mend != HELP:
                messages().print(HELP, markup=False)
            continue
        question = changed
        print_answer(answer, answers())
        chosen = draft(answer)
