"""Plans as Python objects: what `solve` returns, and one of them chosen."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from solver.catalog import Catalog
from solver.export.configured import check_configs
from solver.export.options import ExportOptions
from solver.export.quark_cli import arguments
from solver.export.targets import refuse_unconfirmed
from solver.plan import confirm as steps
from solver.plan.document import Alternative, Answer, QuantPlan
from solver.plan.files import read_plan as read_document
from solver.plan.files import write_plan

if TYPE_CHECKING:
    from pandas import DataFrame


class Plan(QuantPlan):
    """One chosen plan, a draft until it is confirmed. Frozen: every step returns a new one."""

    @classmethod
    def of(cls, plan: QuantPlan) -> "Plan":
        """Return a plan that is there as a document."""
        return cls.model_construct(plan.model_fields_set, **dict(plan))

    @classmethod
    def read(cls, path: Path) -> "Plan":
        """Return the plan in a file.

        Raises
        ------
        PlannerError
            If there is none, or it is no plan.

        """
        return cls.of(read_document(path))

    def choose(self, number: int) -> "Plan":
        """Return the plan with another of its alternatives chosen, unconfirmed.

        Raises
        ------
        BadInputError
            If there is no such alternative.

        """
        return self.of(steps.choose(self, number))

    def confirm(self) -> "Plan":
        """Return the plan as confirmed.

        Raises
        ------
        BadInputError
            If it was drafted without knowing the model's layers.

        """
        return self.of(steps.confirm(self))

    def reject(self) -> "Plan":
        """Return the plan as rejected."""
        return self.of(steps.reject(self))

    def to_quark(
        self, options: ExportOptions | None = None, *, draft: bool = False, catalog: Catalog | None = None
    ) -> list[str]:
        """Return the `quark-cli` command that carries the plan out, as `subprocess.run` takes it.

        Parameters
        ----------
        options
            Where the checkpoint lies and where the result goes; by default the plan's own model, and a folder beside
            the current one.
        draft
            Whether an unconfirmed plan passes too.
        catalog
            Profiles that the plan was made with, where they are not the bundled ones alone.

        Raises
        ------
        DeclinedError
            If the plan is not confirmed and `draft` is not set.
        BadInputError
            If Quark has no template for the model's type, or no settings of an algorithm for it.

        """
        if not draft:
            refuse_unconfirmed(self)
        options = options or ExportOptions()
        check_configs(self, "quark-cli", options, catalog or Catalog())
        return arguments(self, options)

    def save(self, path: Path | str) -> None:
        """Write the plan as JSON: whole or not at all, and the same bytes for the same plan.

        Raises
        ------
        BadInputError
            If the file cannot be written.

        """
        write_plan(Path(path), self)


class PlanSet(Answer):
    """The answer to a request: its alternatives, one of them recommended, and what they rest on."""

    @classmethod
    def of(cls, answer: Answer) -> "PlanSet":
        """Return an answer that is there as a document."""
        return cls.model_construct(answer.model_fields_set, **dict(Answer.__iter__(answer)))

    def __len__(self) -> int:
        """Return the number of alternatives."""
        return len(self.alternatives)

    def __iter__(self) -> Iterator[Alternative]:  # type: ignore[override]  # pydantic's own yields fields
        """Yield the alternatives, least predicted loss first."""
        return iter(self.alternatives)

    def choose(self, number: int | None = None) -> Plan:
        """Return one alternative as an unconfirmed plan, by its `id`; by default the recommended one.

        Raises
        ------
        BadInputError
            If there is no such alternative.

        """
        return Plan.of(steps.draft(self, number))

    def to_frame(self) -> "DataFrame":
        """Return the alternatives as a table, one a row; `solver.api.COLUMNS` says what each column holds."""
        from solver.api.frames import frame_of, rows_of

        return frame_of(rows_of(self))
