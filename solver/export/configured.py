"""Which settings the algorithms of a plan have: Quark's own, a user's, or those of llama's modules written out."""

from collections.abc import Mapping
from typing import Any

from solver.catalog import Catalog
from solver.errors import BadInputError
from solver.export.algorithm_config import TEMPLATE_FIELDS, given_configs
from solver.export.options import ExportOptions
from solver.plan.context import commonest_template
from solver.plan.document import QuantPlan


def _names(plan: QuantPlan) -> list[str]:
    return plan.algorithm.split(",") if plan.algorithm else []


def unconfigured(plan: QuantPlan, options: ExportOptions, catalog: Catalog) -> list[str]:
    """Return the algorithms of a plan that neither Quark's template of the model type nor the user configures."""
    template = catalog.templates.find(plan.model.model_type) if plan.model.template_builtin else None
    known = {*(template.algorithms if template else ()), *given_configs(options.algorithm_config_files)}
    return [name for name in _names(plan) if name not in known]


def configs_of(plan: QuantPlan, options: ExportOptions, catalog: Catalog) -> dict[str, Mapping[str, Any]]:
    """Return the settings that a script writes out: those that were given, and the standard ones that Quark lacks.

    Raises
    ------
    BadInputError
        If an algorithm has neither.

    """
    found = given_configs(options.algorithm_config_files)
    for name in unconfigured(plan, options, catalog):
        config = catalog.algorithms.get(name).config
        if config is None or config.standard is None:
            raise BadInputError(
                f"Quark has no {name} settings for {plan.model.model_type} (rule algorithm-is-configured).",
                where="--to quark-python",
                mend=f"`--algo-config {name}.json` supplies them.",
            )
        found[name] = config.standard
    return found


def check_configs(plan: QuantPlan, target: str, options: ExportOptions, catalog: Catalog) -> None:
    """Refuse settings that the plan has no use for, and targets that would stop for lack of some.

    Raises
    ------
    BadInputError
        If settings are of an algorithm that the plan lacks, of another model type or other patterns, or are missing.

    """
    for file in options.algorithm_config_files:
        foreign = [name for name in file.configs if name not in _names(plan)]
        if foreign and file.template is None:
            has = plan.algorithm or "no algorithm"
            raise BadInputError(f"holds {', '.join(foreign)}, and the plan has {has}.", where=file.path)
        if file.template is not None:
            _check_template(plan, file.template, file.path, catalog)
    missing = unconfigured(plan, options, catalog)
    if missing and target in {"quark-cli", "quantize-quark"}:
        raise BadInputError(
            f"Quark 0.13 has no {', '.join(missing)} settings for {plan.model.model_type}, and {target} stops "
            "(rule algorithm-is-configured).",
            where=f"--to {target}",
            mend="`--algo-config FILE` supplies them; `--to quark-python` writes out those of llama's modules.",
        )


def _check_template(plan: QuantPlan, fields: Mapping[str, Any], path: str, catalog: Catalog) -> None:
    if fields.get("model_type") != plan.model.model_type:
        raise BadInputError(
            f"is of model type {fields.get('model_type')!r}, and the plan is for {plan.model.model_type!r}.", where=path
        )
    template = catalog.templates.find(plan.model.model_type) or commonest_template(plan.model.model_type)
    for field, ours in TEMPLATE_FIELDS.items():
        given = fields.get(field, [])
        meant = list(getattr(template, ours))
        if sorted([given] if isinstance(given, str) else given) != sorted(meant):
            raise BadInputError(
                f"has {field} {given}, and the plan is made for {meant}.",
                where=path,
                mend="`--to quark-template` writes a file that fits.",
            )


def standard_note(plan: QuantPlan, target: str, options: ExportOptions, catalog: Catalog) -> str | None:
    """Return that a script holds settings which Quark does not have for the model type, or None."""
    missing = unconfigured(plan, options, catalog) if target in {"quark-python", "quark-template"} else []
    if not missing:
        return None
    return (
        f"Quark has no {', '.join(missing)} settings for {plan.model.model_type}: these are its own for llama, for "
        "modules of the same names; look through them."
    )
