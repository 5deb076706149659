"""What an analysis warns of."""

from solver.catalog import Catalog
from solver.catalog.template import Template
from solver.intake.analysis import Risk
from solver.intake.inventory import Inventory
from solver.intake.meta import MetaModel
from solver.intake.stored_risk import stored_risk


def analysis_risks(
    model_type: str, inventory: Inventory, template: Template | None, meta: MetaModel, catalog: Catalog
) -> list[Risk]:
    """Return the risks of planning for a model, in no order of weight."""
    risks = [stored_risk(inventory.quantized, inventory.dtype)] if inventory.quantized else []
    if template is None:
        risks.append(
            Risk(
                severity="high",
                message=f"AMD Quark has no template for model type {model_type!r}",
                recovery_hint="`solve export --to quark-python` writes a script that registers one",
            )
        )
    if any(family.experts and not family.quantizable for family in inventory.layers):
        risks.append(
            Risk(
                severity="medium",
                message="AMD Quark 0.13 does not split this model's fused experts: they stay in their own type",
                recovery_hint="plan on the rest of the model, or use a checkpoint with separate experts",
            )
        )
    if inventory.mtp is not None:
        risks.append(
            Risk(
                severity="low",
                message=f"the checkpoint has {inventory.mtp.layers} multi-token-prediction layer(s) of "
                f"{inventory.mtp.elements:,} elements, which transformers does not build: Quark leaves them out",
                recovery_hint="`--mtp keep` counts their bytes, where the stack loads them from the original",
            )
        )
    elif catalog.mtp.of(model_type) is None and catalog.config_fields.first("mtp", meta.text_config):
        risks.append(
            Risk(
                severity="low",
                message="the configuration names multi-token-prediction layers, which transformers does not build: "
                "they are not counted",
                recovery_hint="add their bytes if the serving stack loads them",
            )
        )
    return risks
