"""Which known defects of Quark a hand-over meets, for notes beside what is printed."""

from collections.abc import Iterator

from solver.catalog import Catalog
from solver.plan.document import QuantPlan


def defect_notes(plan: QuantPlan, target: str, catalog: Catalog) -> Iterator[str]:
    """Yield what a target does wrong to models of the plan's type, and what to do instead."""
    for defect in catalog.defects:
        concerned = plan.model.model_type in defect.model_types and target in defect.targets
        spared = defect.unquantized_only and plan.model.stored is not None
        if concerned and not spared and defect.affects(plan.provenance.quark_version):
            yield f"{defect.sentence} {defect.done} (Quark {defect.quark})."
