"""What a plan says of itself and of its model, against its request and the profiles of today."""

from collections.abc import Iterator
from typing import Any

from solver.catalog import Catalog
from solver.errors import PlannerError
from solver.intake.analysis import ModelAnalysis
from solver.intake.analyze import analyze_source
from solver.intake.shipped import shipped_analysis
from solver.intake.source import find_source
from solver.plan.choices import find_choices
from solver.plan.compare import differences
from solver.plan.confirm import CHOSEN_FIELDS
from solver.plan.context import Context
from solver.plan.document import Alternative, QuantPlan, ServicePart
from solver.plan.planner import model_part, provenance, service_part
from solver.plan.problems import unquantized
from solver.plan.serving import next_steps
from solver.plan.verification import Check, Difference, checked, left_out


def _ordered(entries: dict[str, str]) -> list[str]:
    return [f"{pattern}={scheme}" for pattern, scheme in entries.items()]


def choice_check(plan: QuantPlan, stated: Alternative) -> Check:
    """Check that a plan says what the alternative says that it chose, patterns in their order."""
    (other,) = [item for item in plan.alternatives if item.id == plan.chosen]
    ours, theirs = (item.model_dump(mode="json", include=set(CHOSEN_FIELDS)) for item in (stated, other))
    found = list(differences("", theirs, ours))
    expected, given = _ordered(other.layer_quant_config), _ordered(plan.layer_quant_config)
    if sorted(expected) == sorted(given):
        found += [
            Difference(where=f"layer_quant_config, entry {number}", expected=was, found=now)
            for number, (was, now) in enumerate(zip(expected, given, strict=True), start=1)
            if was != now
        ]
    return checked("choice", f"{len(CHOSEN_FIELDS)} fields: those of alternative {plan.chosen}", found)


def hash_check(plan: QuantPlan, analysis: ModelAnalysis, catalog: Catalog) -> Check:
    """Check the hashes that a plan records: of the model's configuration, and of all profiles."""
    expected = {"model.config_sha256": analysis.model.config_sha256, "provenance.profiles_sha256": catalog.fingerprint}
    found: dict[str, Any] = {
        "model.config_sha256": plan.model.config_sha256,
        "provenance.profiles_sha256": plan.provenance.profiles_sha256,
    }
    prefix, _, digest = plan.model.analysis_ref.partition("config-sha256:")
    if not prefix and digest:
        expected["model.analysis_ref"], found["model.analysis_ref"] = analysis.model.config_sha256, digest
    return checked(
        "hashes", f"{len(expected)} hashes of the configuration and the profiles", differences("", expected, found)
    )


def model_check(plan: QuantPlan, context: Context) -> Check:
    """Check what a plan says of its model, as it is without a plan."""
    choices = find_choices(context)
    part = model_part(context, unquantized(context, choices), plan.model.analysis_ref)
    # The configuration may be read from another place; its hash is a check of its own.
    names = sorted(set(type(part).model_fields) - {"analysis_ref", "model_path", "config_sha256", "revision"})
    expected, found = (item.model_dump(mode="json", include=set(names)) for item in (part, plan.model))
    return checked(
        "model",
        f"{len(names)} facts: type, elements, bytes unquantized",
        differences("model", expected, found),
    )


def service_check(plan: QuantPlan, context: Context) -> Check:
    """Check what follows from the request alone: the service, what is assumed, and how Quark is to be run."""
    request = context.request
    expected: dict[str, Any] = {
        "calibration": request.calibration.model_dump(mode="json"),
        "evaluation_intent": request.evaluation_intent,
        "service": service_part(context).model_dump(mode="json"),
        "next_steps": list(next_steps(plan.model, service_part(context), plan.algorithm)),
        "missing": list(context.analysis.missing),
        "provenance": {
            name: getattr(provenance(request, context.analysis, context.catalog), name)
            for name in ("seed", "workers", "time_limit", "risk_steps_per_nat")
        },
    }
    stated = plan.model_dump(mode="json", include=set(expected))
    stated["provenance"] = {name: stated["provenance"][name] for name in expected["provenance"]}
    found = list(differences("", expected, stated))
    found += [
        Difference(where="assumptions", expected=text, found="nothing of the kind")
        for text in context.assumptions
        if text not in plan.assumptions
    ]
    return checked("service", f"{len(ServicePart.model_fields)} facts, assumptions, calibration: as asked", found)


def analysis_check(analysis: ModelAnalysis, catalog: Catalog) -> Check:
    """Return whether the analysis that was read from a file is that of the model's configuration today."""
    try:
        source = find_source(analysis.model.model_path, catalog, local_only=True)
        shipped = None if catalog.extended else shipped_analysis(source)
        fresh = shipped or analyze_source(source, catalog)
    except PlannerError as error:
        return left_out("analysis", f"the configuration is not at hand: {error.what}")
    parts = [item.inventory and item.inventory.model_dump(mode="json") for item in (fresh, analysis)]
    fields = len(parts[0]) if parts[0] else 0
    return checked(
        "analysis",
        f"{fields} parts of the inventory: as the configuration makes them",
        differences("inventory", *parts),
    )


def version_notes(plan: QuantPlan, context: Context) -> Iterator[str]:
    """Yield which versions are not those that the plan was made with."""
    now = provenance(context.request, context.analysis, context.catalog)
    for name in ("tool_version", "ortools_version", "quark_version", "transformers_version"):
        before, after = getattr(plan.provenance, name), getattr(now, name)
        if before != after:
            yield f"planned with {name.removesuffix('_version')} {before}, verified with {after}"
    yield "not verified: that no other plan beats it, which was proven when it was made"
