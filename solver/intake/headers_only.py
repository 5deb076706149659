"""The analysis of a checkpoint whose architecture transformers has no class for."""

from solver.catalog import Catalog
from solver.errors import BadInputError
from solver.intake.analysis import AnalyzedModel, ModelAnalysis, QuantizationTargets, Risk
from solver.intake.from_headers import inventory_from_headers
from solver.intake.inventory import Inventory
from solver.intake.meta import knows_type
from solver.intake.shares import PACKED, SCALES
from solver.intake.source import ModelSource
from solver.intake.tensors import Checkpoint

UNKNOWN_TYPE = "unknown"


def _name(source: ModelSource) -> str:
    stated = source.config.get("model_type")
    return stated if isinstance(stated, str) and stated else UNKNOWN_TYPE


def _why(name: str, reason: BadInputError) -> str:
    if name == UNKNOWN_TYPE:
        return "no configuration names a model type"
    return reason.what.rstrip(".") if knows_type(name) else f"transformers has no class for model type {name!r}"


def _risks(name: str, inventory: Inventory, *, templated: bool) -> list[Risk]:
    risks = [
        Risk(
            severity="high",
            message=f"AMD Quark loads models through transformers, which cannot build this one ({name}): it needs the "
            "code in the model's folder",
            recovery_hint="read that code, then plan and export with --trust-remote-code",
        ),
        Risk(
            severity="medium",
            message="which stored matrices are linear layers is told by their names and shapes alone",
            recovery_hint="compare the layers of the analysis with those of the model's code",
        ),
    ]
    unknown = [family.name for family in inventory.layers if family.role == "other"]
    if unknown:
        risks.append(
            Risk(
                severity="medium",
                message=f"nothing is known of what {', '.join(unknown[:4])}{' ...' if unknown[4:] else ''} do: "
                "they stay native",
                recovery_hint="give them a role in a roles.yaml of your own (--profiles)",
            )
        )
    if not templated:
        risks.append(
            Risk(
                severity="high",
                message=f"AMD Quark has no template for model type {name!r}",
                recovery_hint="`solve export --to quark-python` writes a script that registers one",
            )
        )
    causes = {difference.cause for difference in inventory.differences}
    if {PACKED, SCALES} & causes:
        risks.append(
            Risk(
                severity="high",
                message="the checkpoint is already quantized: it holds scales or packed weights",
                recovery_hint="quantize from the original 16-bit checkpoint where there is one",
            )
        )
    return risks


def analyze_headers(
    source: ModelSource,
    checkpoint: Checkpoint,
    dtype: str,
    catalog: Catalog,
    *,
    reason: BadInputError,
    assumptions: tuple[str, ...],
) -> ModelAnalysis:
    """Return the analysis of a checkpoint by its headers, and by what fields its configuration may have.

    Parameters
    ----------
    dtype
        Torch's name of the weights' type.
    reason
        Why transformers cannot build the model.
    assumptions
        What was assumed already.

    Raises
    ------
    BadInputError
        If the tensors are no language model's.

    """
    name = _name(source)
    inventory, missing = inventory_from_headers(source.config, checkpoint, dtype, catalog, where=source.name)
    template = catalog.templates.find(name)
    return ModelAnalysis(
        analysis_status="partial" if missing else "complete",
        model=AnalyzedModel(
            model_path=source.name,
            model_type=name,
            revision=source.revision,
            config_sha256=source.config_sha256,
        ),
        quantization_targets=QuantizationTargets(
            linear_layer_count=inventory.quantizable_count,
            exclude_defaults=template.exclude_layers if template else ("lm_head",),
            has_non_linear_experts=any(family.experts and not family.quantizable for family in inventory.layers),
        ),
        risks=tuple(_risks(name, inventory, templated=template is not None)),
        inventory=inventory,
        missing=tuple(missing),
        assumptions=(f"read from the checkpoint's headers: {_why(name, reason)}", *assumptions),
    )
