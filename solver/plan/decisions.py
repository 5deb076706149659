"""The decision table that is shown before anything final: nine rows, each with its value and its reason."""

from dataclasses import dataclass

from solver.catalog import Catalog
from solver.plan.document import QuantPlan

CONFIRM = "Confirm this plan?"
QUESTION = f"{CONFIRM} Any changes?"


@dataclass(frozen=True, slots=True)
class Decision:
    """One row."""

    decision: str
    value: str
    reason: str


def _scheme_reason(plan: QuantPlan, catalog: Catalog) -> str:
    shares = {item.id: item.scheme_shares for item in plan.alternatives}.get(plan.chosen or 0, {})
    share = shares.get(plan.global_scheme)
    summary = catalog.schemes.get(plan.global_scheme).summary
    return summary if share is None else f"{summary}; {share:.0%} of the linear weights"


def _kv_reason(plan: QuantPlan) -> str:
    if plan.kv_cache_scheme is not None:
        return "halves the cache at a small predicted loss"
    if plan.request.get("kv_cache_scheme") == "none":
        return "as asked"
    return "the cache stays in the model's own type"


def _algorithm_reason(plan: QuantPlan, catalog: Catalog) -> str:
    if plan.algorithm is None:
        if plan.request.get("algorithms") == []:
            return "as asked: plain rounding"
        return "none that Quark configures for this model helps here"
    return "; ".join(catalog.algorithms.get(name).summary for name in plan.algorithm.split(","))


def decision_table(plan: QuantPlan, catalog: Catalog) -> list[Decision]:
    """Return the nine decisions of a plan."""
    calibration = plan.calibration
    overrides = plan.layer_quant_config
    intents = {
        "none": "no evaluation",
        "smoke": "quick perplexity check after quantizing",
        "full": "full evaluation",
    }
    override_reason = "other layers bear more or less than these" if overrides else "one scheme for all layers"
    return [
        Decision("global_scheme", plan.global_scheme, _scheme_reason(plan, catalog)),
        Decision("kv_cache_scheme", plan.kv_cache_scheme or "null", _kv_reason(plan)),
        Decision(
            "exclude_layers",
            "\n".join(plan.exclude_layers),
            "the template's own, repeated because passing any replaces them, and layers left native",
        ),
        Decision(
            "layer_quant_config",
            "\n".join(f"{pattern} = {scheme}" for pattern, scheme in overrides.items()) or "{}",
            override_reason,
        ),
        Decision("algorithm", plan.algorithm or "null", _algorithm_reason(plan, catalog)),
        Decision("calibration_dataset", calibration.dataset, "what Quark calibrates on"),
        Decision("num_calib_data", str(calibration.num_calib_data), "samples"),
        Decision("seq_len", str(calibration.seq_len), "tokens of each sample"),
        Decision("evaluation_intent", plan.evaluation_intent, intents[plan.evaluation_intent]),
    ]
