"""All targets of `solve export`, and the one gate before them: only confirmed plans leave."""

from collections.abc import Callable
from typing import NamedTuple

from solver.catalog import Catalog
from solver.catalog.backend import Backend
from solver.errors import BadInputError, DeclinedError
from solver.export import quantize_quark, quark_cli, quark_python, quark_template, serving
from solver.export.configured import check_configs
from solver.export.options import ExportOptions, refuse_unknown
from solver.plan.document import QuantPlan


class Target(NamedTuple):
    """A way to quantize: what writes it, and the names of the options that it can express."""

    export: Callable[[QuantPlan, ExportOptions, Catalog], str]
    supported: frozenset[str]


TARGETS = {
    "quark-cli": Target(lambda plan, options, _: quark_cli.export(plan, options), quark_cli.SUPPORTED),
    "quantize-quark": Target(lambda plan, options, _: quantize_quark.export(plan, options), quantize_quark.SUPPORTED),
    "quark-python": Target(quark_python.export, quark_python.SUPPORTED),
    "quark-template": Target(quark_template.export, quark_template.SUPPORTED),
}


def unexpressed(plan: QuantPlan, target: str) -> str | None:
    """Return what of the evaluation a target leaves out, or None."""
    if target == "quark-cli" and plan.evaluation_intent == "full":
        return "quark-cli evaluates perplexity on wikitext only; `--to quantize-quark` evaluates in full."
    if target == "quark-python" and plan.evaluation_intent != "none":
        return "the script does not evaluate; `--to quark-cli` and `--to quantize-quark` do."
    return None


def refuse_unconfirmed(plan: QuantPlan, file: str = "quant_plan.json") -> None:
    """Let only confirmed plans pass; `file` is where the plan lies, for the message.

    Raises
    ------
    DeclinedError
        If the plan is not confirmed.

    """
    if plan.requires_confirmation:
        raise DeclinedError(
            "the plan was rejected." if plan.rejected else "the plan is not confirmed.",
            mend=f"`solve confirm {file}` confirms it; `--draft` shows the command all the same.",
        )


def export_plan(
    plan: QuantPlan,
    target: str,
    options: ExportOptions,
    *,
    catalog: Catalog | None = None,
    draft: bool = False,
    file: str = "quant_plan.json",
) -> str:
    """Return what carries a plan out, as text; `file` is where the plan lies, for messages.

    A target quantizes, or is a backend of the catalogue and serves the result.

    Raises
    ------
    DeclinedError
        If the plan is not confirmed and `draft` is not set.
    BadInputError
        If the target is unknown, or cannot express the plan or an option; the target that can is named.

    """
    catalog = catalog or Catalog()
    backend = None if target in TARGETS else _backend(target, catalog)
    if not draft:
        refuse_unconfirmed(plan, file)
    refuse_unknown(target, options.asked(), {name: known.supported for name, known in TARGETS.items()})
    if backend is not None:
        return serving.export(plan, options, backend, catalog.backends)
    check_configs(plan, target, options, catalog)
    return TARGETS[target].export(plan, options, catalog)


def _backend(target: str, catalog: Catalog) -> Backend:
    """Return the backend that a target names.

    Raises
    ------
    BadInputError
        If there is none.

    """
    backend = catalog.backends.find(target)
    if backend is None:
        known = ", ".join((*TARGETS, *serving.serving_backends(catalog.backends)))
        raise BadInputError(f"unknown target {target!r}.", where="--to", mend=f"There are {known}.")
    return backend
