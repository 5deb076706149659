"""The table of `docs/patterns.md`: what plans are written with, and who reads them as they are planned."""

from collections.abc import Mapping
from pathlib import Path

from bench.loaders.exported import quark_differences
from bench.loaders.plans import ARCHITECTURES, Plan, plans
from bench.loaders.verdicts import Architecture
from tests.quark.real import model_of_quark

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "patterns.md"
HEAD = """# Patterns: how many, and who reads them as planned

Written by `python -m bench vllm-loader`. Every row is a plan for a small model of an architecture (real module names,
a few blocks): the patterns beside the template's own excludes, whether it is proven that no fewer of the planner's
candidates write it, and for how many linears Quark 0.13 (its own resolution) and vLLM 0.33 (its own model class and
reader, on the names of the export) find what is planned. vLLM's verdict is the key of weight and activation and the
method of the layer that the linear is loaded into. A plan that vLLM does not load names the scheme that it refuses, or
the part of the names that it does not know. [exports.md](exports.md) compares bytes of exports with predictions.

| architecture | plan | patterns | fewest | Quark | vLLM |
|---|---|--:|---|--:|--:|
"""


def _vllm(plan: Plan, found: Architecture) -> str:
    from bench.loaders.vllm import differences, refused

    without = refused(plan)
    if without is not None:
        return f"not loaded: {without}"
    wrong = len(list(differences(plan, found.homes, found.plans[plan.kind])))
    return f"{len(plan.schemes) - wrong} of {len(plan.schemes)}"


def document(found: Mapping[str, Architecture]) -> str:
    """Return the table of all plans."""
    lines = []
    for architecture in ARCHITECTURES:
        for kind, plan in plans(architecture).items():
            wrong = len(quark_differences(plan, model_of_quark(architecture)))
            quark = f"{len(plan.schemes) - wrong} of {len(plan.schemes)}"
            cells = (
                architecture,
                kind,
                str(plan.written),
                "yes" if plan.patterns.fewest else "not proven",
                quark,
                _vllm(plan, found[architecture]),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return HEAD + "\n".join(lines) + "\n"
