"""One run of `solve`: settle what is missing, plan, show, choose, confirm, write."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from solver import api
from solver.catalog import Catalog
from solver.cli.changes import HELP, apply_change
from solver.cli.question import Question, to_request
from solver.errors import BadInputError, DeclinedError, MissingError, PlannerError
from solver.intake.analysis import ModelAnalysis
from solver.intake.environment import ENVIRONMENT_NAME, hardware_from_environment
from solver.intake.read import ANALYSIS_NAME, is_analysis
from solver.plan.confirm import confirm, draft
from solver.plan.decisions import QUESTION, decision_table
from solver.plan.document import Answer, ErrorAnswer, QuantPlan
from solver.plan.files import PLAN_NAME, read_plan, to_json, write_plan
from solver.report.alternatives import print_answer
from solver.report.console import answers, messages
from solver.report.decisions import print_plan

_DEFAULT_HARDWARE = "mi300x"


@dataclass
class Session:
    """The state of one run; `question` grows by what is asked for and changed on a terminal."""

    question: Question
    profiles: Path | None
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
        try:
            self._run()
        except PlannerError as error:
            if not self.as_json:
                raise
            document = ErrorAnswer(request=self.question.document(), error=error.document())
            typer.echo(to_json(document.model_dump(mode="json")), nl=False)
            raise typer.Exit(error.exit_code) from error

    @property
    def _interactive(self) -> bool:
        return sys.stdin.isatty() and not self.as_json and not self.yes

    def _run(self) -> None:
        catalog = Catalog(self.profiles)
        if not self._interactive and not self.yes:
            self._refuse_to_replace_a_confirmed_plan()
        model, ref = self._model()
        hardware = self._hardware(catalog)
        self._ask_for_the_rest()
        to_request(self.question, model, hardware)  # bad flags before the slow intake
        analysis = self._analysis(model, catalog)
        answer = self._solve(analysis, catalog, model, hardware, ref)
        if self.as_json:
            self._finish_json(answer)
            return
        print_answer(answer, answers())
        if self._interactive:
            self._converse(analysis, catalog, model, hardware, ref, answer)
        else:
            self._finish(draft(answer, self.choose), catalog)

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

    def _hardware(self, catalog: Catalog) -> str:
        if self.question.hardware is None:
            if Path(ENVIRONMENT_NAME).is_file() or not self._interactive:
                found = hardware_from_environment(Path(ENVIRONMENT_NAME), catalog).name
            else:
                found = typer.prompt("Accelerator", default=_DEFAULT_HARDWARE, err=True)
            self.question = replace(self.question, hardware=found)
        return catalog.hardware.get(self.question.hardware or "").name

    def _ask_for_the_rest(self) -> None:
        if not self._interactive:
            return
        if self.question.budget is None:
            size = typer.prompt("Budget of one device, 40GB or 40GiB", default="all it has", err=True)
            self.question = replace(self.question, budget=None if size == "all it has" else size)
        if self.question.priority is None and self.choose is None:
            priority = typer.prompt("Priority: accuracy, size or speed", default="accuracy", err=True)
            self.question = apply_change(self.question, f"priority={priority}")

    def _analysis(self, model: str, catalog: Catalog) -> ModelAnalysis:
        with messages().status(f"analysing {model}"):
            return api.analyze(
                model,
                catalog=catalog,
                revision=self.question.revision,
                trust_remote_code=self.question.trust_remote_code,
            )

    def _solve(self, analysis: ModelAnalysis, catalog: Catalog, model: str, hardware: str, ref: str | None) -> Answer:
        request = to_request(self.question, model, hardware)
        with messages().status("solving"):
            return api.solve(request, analysis, catalog=catalog, analysis_ref=ref)

    def _converse(
        self,
        analysis: ModelAnalysis,
        catalog: Catalog,
        model: str,
        hardware: str,
        ref: str | None,
        answer: Answer,
    ) -> None:
        """Show the decisions of a plan and take changes until the user says yes or no."""
        number = self.choose or typer.prompt("Plan", default=answer.recommended, type=int, err=True)
        while True:
            try:
                plan = draft(answer, number)
            except BadInputError as error:
                messages().print(str(error), markup=False)
                number = typer.prompt("Plan", default=answer.recommended, type=int, err=True)
                continue
            print_plan(plan, decision_table(plan, catalog), answers())
            said = typer.prompt(f"{QUESTION} [yes/no/change]", err=True).strip()
            if said.lower() in {"y", "yes"}:
                self._write(confirm(plan))
                return
            if said.lower() in {"n", "no"}:
                raise DeclinedError("no plan was confirmed, and nothing was written.")
            if said.isdecimal():
                number = int(said)
                continue
            before = self.question
            try:
                self.question = apply_change(before, said)
                hardware = catalog.hardware.get(self.question.hardware or hardware).name
                answer = self._solve(analysis, catalog, model, hardware, ref)
            except PlannerError as error:
                self.question = before
                messages().print(str(error), markup=False)
                messages().print(HELP, markup=False)
                continue
            number = answer.recommended
            print_answer(answer, answers())

    def _finish(self, plan: QuantPlan, catalog: Catalog) -> None:
        print_plan(plan, decision_table(plan, catalog), answers())
        if self.yes and not plan.missing:
            plan = confirm(plan)
        self._write(plan)

    def _finish_json(self, answer: Answer) -> None:
        typer.echo(to_json(answer.model_dump(mode="json")), nl=False)
        if self._writes:
            plan = draft(answer, self.choose)
            self._write(confirm(plan) if self.yes and not plan.missing else plan)

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
        if plan.requires_confirmation:
            note = f"Wrote {path}, a draft. Next: solve confirm {path}"
        else:
            note = f"Wrote {path}, confirmed. Next: solve export {path} --to quark-cli"
        if not self.as_json:
            messages().print(note, soft_wrap=True, markup=False)
