"""One run of `solve`: settle what is missing, plan, show, choose, confirm, write."""

from dataclasses import dataclass, replace
from pathlib import Path

import typer

from solver import api
from solver.api import (
    ANALYSIS_NAME,
    ENVIRONMENT_NAME,
    PLAN_NAME,
    Answer,
    ModelAnalysis,
    QuantPlan,
    confirm,
    decision_table,
    draft,
    is_analysis,
    read_plan,
    to_json,
    write_plan,
)
from solver.catalog import Catalog
from solver.cli.answering import answering
from solver.cli.dialog import ask_for_hardware, ask_for_the_rest, converse
from solver.cli.machine import Settled, settle_hardware, tell
from solver.cli.question import Question, to_request
from solver.errors import BadInputError, MissingError
from solver.report.alternatives import print_answer
from solver.report.console import answers, messages, on_terminal
from solver.report.decisions import next_line, print_plan
from solver.report.progress import shown_after


@dataclass
class Session:
    """The state of one run; `question` grows by what is asked for and changed on a terminal."""

    question: Question
    profiles: Path | None
    cache: bool
    choose: int | None
    yes: bool
    output: Path | None
    as_json: bool

    def run(self) -> None:
        """Run to the end; with `--json` an error becomes the document.

        Raises
        ------
        PlannerError
            If there is no answer, and no JSON was asked for.
        """
        with answering(self.question.document, as_json=self.as_json):
            self._run()

    @property
    def _interactive(self) -> bool:
        return on_terminal() and not self.as_json and not self.yes

    def _run(self) -> None:
        catalog = Catalog(self.profiles)
        if not self._interactive and not self.yes:
            self._refuse_to_replace_a_confirmed_plan()
        model, ref = self._model()
        settled = self._hardware(catalog)
        if self._implied(catalog) is None:
            self.question = replace(self.question, hardware=settled.hardware)
        if self._interactive:
            self.question = ask_for_the_rest(self.question, catalog, ask_goal=self.choose is None)
        to_request(self.question, model)  # bad flags before the slow intake
        analysis = self._analysis(model, catalog)

        told: set[str] = set()

        def plan(question: Question) -> Answer:
            hardware = question.hardware or settled.hardware
            notes = settled.notes(hardware, question.tensor_parallel, catalog)
            if not self.as_json:
                tell(tuple(note for note in notes if note not in told))
                told.update(notes)
            with messages().status("solving"):
                request = to_request(question, model, notes)
                with shown_after(messages()) as watch:
                    return api.solve(request, analysis, catalog=catalog, analysis_ref=ref, watch=watch)

        answer = plan(self.question)
        if not self._interactive:
            self._finish(answer, catalog)
            return
        print_answer(answer, answers())
        self._write(confirm(converse(self.question, answer, self.choose, plan, catalog)))

    def _model(self) -> tuple[str, str | None]:
        """Return what to analyse, and the reference to an analysis that is read from a file."""
        if self.question.model is not None:
            return self.question.model, self.question.model if is_analysis(Path(self.question.model)) else None
        if not Path(ANALYSIS_NAME).is_file():
            raise MissingError(
                f"no model is named and there is no ./{ANALYSIS_NAME}: without an analysis there is no plan.",
                mend=f"Name one with --model, or write one with `solve analyze MODEL -o {ANALYSIS_NAME}`.",
            )
        return ANALYSIS_NAME, f"./{ANALYSIS_NAME}"

    def _implied(self, catalog: Catalog) -> str | None:
        """Return the machine that the goal implies where none is named."""
        goal = self.question.goal
        named = goal is None or self.question.hardware is not None
        return None if named else catalog.goals.get(str(goal)).implies.hardware

    def _hardware(self, catalog: Catalog) -> Settled:
        """Return the machine that is named, that the goal implies, or that is found."""
        named = self.question.hardware or self._implied(catalog)
        if named is None and self._interactive and not Path(ENVIRONMENT_NAME).is_file():
            named = ask_for_hardware(catalog)
        return settle_hardware(named, catalog)

    def _analysis(self, model: str, catalog: Catalog) -> ModelAnalysis:
        with messages().status(f"analysing {model}"):
            return api.analyze(
                model,
                catalog=catalog,
                revision=self.question.revision,
                trust_remote_code=self.question.trust_remote_code,
                cache=self.cache,
            )

    def _finish(self, answer: Answer, catalog: Catalog) -> None:
        """Write the plan and print the answer, as a document or as tables."""
        plan = draft(answer, self.choose)
        if not self.as_json:
            print_answer(answer, answers())
            print_plan(plan, decision_table(plan, catalog), answers())
        if self._writes:
            self._write(confirm(plan) if self.yes and not plan.missing else plan)
        if self.as_json:
            # Last, so that a plan that cannot be written makes the one document an error.
            typer.echo(to_json(answer.model_dump(mode="json")), nl=False)

    @property
    def _path(self) -> Path:
        return self.output or Path(PLAN_NAME)

    @property
    def _writes(self) -> bool:
        """Whether a plan is written: always, but with `--json` only when a flag asks for it."""
        return not self.as_json or self.yes or self.output is not None or self.choose is not None

    def _refuse_to_replace_a_confirmed_plan(self) -> None:
        if self._writes and self._path.is_file() and not read_plan(self._path).requires_confirmation:
            raise BadInputError(
                "holds a confirmed plan, which a draft does not replace.",
                where=str(self._path),
                mend="Name another file with -o, or confirm the new plan with --yes.",
            )

    def _write(self, plan: QuantPlan) -> None:
        path = self._path
        if plan.requires_confirmation:
            self._refuse_to_replace_a_confirmed_plan()
        write_plan(path, plan)
        if not plan.requires_confirmation:
            note = f"Wrote {path}, confirmed. Next: {next_line(plan, path)}"
        elif plan.footprint is None:
            note = f"Wrote {path}, a draft. Next: solve analyze MODEL -o {ANALYSIS_NAME}, for what is missing"
        else:
            note = f"Wrote {path}, a draft. Next: solve confirm {path}"
        if not self.as_json:
            messages().print(note, soft_wrap=True, markup=False)
