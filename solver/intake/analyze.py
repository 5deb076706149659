"""The intake: from a model's configuration to its analysis."""

from solver.catalog import Catalog
from solver.catalog.template import Template
from solver.errors import BadInputError
from solver.intake.analysis import AnalyzedModel, ModelAnalysis, QuantizationTargets, Risk
from solver.intake.caches import block_config, cache_groups
from solver.intake.checkpoint import checkpoint_of, checkpoint_risks, translated, weight_type, with_checkpoint
from solver.intake.headers_only import analyze_headers
from solver.intake.inventory import DTYPE_BYTES, Inventory, LayerFamily, MixtureOfExperts
from solver.intake.layers import find_convolutions, find_layers, other_parameters, saved_buffer_bytes, to_families
from solver.intake.meta import MetaModel, build_on_meta
from solver.intake.source import SIDE_QUANT_CONFIG, ModelSource

ASSUMED_DTYPE = "bfloat16"


def _dtype(source: ModelSource) -> str | None:
    """Return the checkpoint's type: stated at the top, or only in the text part.

    Raises
    ------
    BadInputError
        If something is stated that is no type.
    """
    text = source.config.get("text_config")
    for part in (source.config, text if isinstance(text, dict) else {}):
        for key in ("dtype", "torch_dtype"):
            stated = part.get(key)
            if isinstance(stated, str) and stated in DTYPE_BYTES:
                return stated
            if stated not in (None, "auto"):
                raise BadInputError(
                    f"{key} {stated!r} is no type.", where=source.name, mend=f"Known are {', '.join(DTYPE_BYTES)}."
                )
    return None


def _quantized_by(source: ModelSource) -> str | None:
    """Return how the checkpoint is quantized already, or None; there are four places that may say it."""
    text = source.config.get("text_config")
    for part in (source.config, text if isinstance(text, dict) else {}):
        stated = part.get("quantization_config") or part.get("quantization")
        if stated:
            if not isinstance(stated, dict):
                return str(stated)
            return str(stated.get("quant_method") or stated.get("quant_algo") or "unnamed method")
    if source.folder is not None and (source.folder / SIDE_QUANT_CONFIG).is_file():
        return SIDE_QUANT_CONFIG
    return None


def _moe(layers: tuple[LayerFamily, ...], meta: MetaModel, catalog: Catalog) -> MixtureOfExperts | None:
    experts = max((family.experts for family in layers), default=0)
    if not experts:
        return None
    fields = catalog.config_fields
    return MixtureOfExperts(
        experts=experts,
        experts_per_token=int(fields.first("experts_per_token", meta.text_config) or experts),
        shared_experts=int(
            fields.first("shared_experts", meta.text_config)
            or any(family.role.startswith("shared_") for family in layers)
        ),
    )


def _check_consistency(meta: MetaModel, catalog: Catalog) -> None:
    """Raise ValueError where the configuration contradicts itself in a way that building the model lets pass."""
    text, fields = block_config(meta.text_config, 0), catalog.config_fields
    heads, groups = getattr(text, "num_attention_heads", None), getattr(text, "num_key_value_heads", None)
    if heads and groups and heads % groups:
        raise ValueError(f"{heads} attention heads cannot share {groups} key-value heads")
    experts, routed = fields.first("experts", text), fields.first("experts_per_token", text)
    if experts is not None and routed is not None and not 0 < routed <= experts:
        raise ValueError(f"a token cannot be routed to {routed} of {experts} experts")


def _inventory(meta: MetaModel, dtype: str, catalog: Catalog) -> tuple[Inventory, list[str]]:
    found = find_layers(meta.model)
    layers = to_families(found, catalog.roles)
    caches, missing = cache_groups(meta.text_config, catalog.config_fields)
    elements = sum(parameter.numel() for parameter in meta.model.parameters())
    text = meta.text_config
    context = catalog.config_fields.first("context", text)
    inventory = Inventory(
        dtype=dtype,
        elements_total=elements,
        checkpoint_bytes=elements * DTYPE_BYTES[dtype],
        hidden_size=text.hidden_size,
        vocab_size=text.vocab_size,
        blocks=text.num_hidden_layers,
        max_context=int(context) if context else None,
        tied_embeddings=any(family.tied for family in layers),
        layers=layers,
        others=other_parameters(meta.model, found, catalog.roles),
        caches=caches,
        moe=_moe(layers, meta, catalog),
        buffer_bytes=saved_buffer_bytes(meta.model),
        convolutions=find_convolutions(meta.model),
    )
    return inventory, missing


def _risks(
    source: ModelSource, inventory: Inventory, template: Template | None, meta: MetaModel, catalog: Catalog
) -> list[Risk]:
    risks = []
    method = _quantized_by(source)
    if method:
        risks.append(
            Risk(
                severity="high",
                message=f"the checkpoint is already quantized ({method}); bytes and shapes here are those of the "
                f"dequantized model in {inventory.dtype}",
                recovery_hint="quantize from the original 16-bit checkpoint where there is one",
            )
        )
    if template is None:
        risks.append(
            Risk(
                severity="high",
                message=f"AMD Quark has no template for model type {source.config.get('model_type')!r}",
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
    if catalog.config_fields.first("mtp", meta.text_config):
        risks.append(
            Risk(
                severity="low",
                message="the configuration names multi-token-prediction layers, which transformers does not build: "
                "they are not counted",
                recovery_hint="add their bytes if the serving stack loads them",
            )
        )
    return risks


def analyze_source(source: ModelSource, catalog: Catalog, *, trust_remote_code: bool = False) -> ModelAnalysis:
    """Return the analysis of a model, built on torch's meta device from its configuration.

    Headers of the checkpoint, where they are at hand, say what is stored; for an architecture that transformers has
    no class for they say everything.

    Raises
    ------
    BadInputError
        If the configuration cannot be read, or describes no decoder with linear layers.

    """
    source = translated(source, catalog)
    checkpoint = checkpoint_of(source)
    dtype, notes = weight_type(_dtype(source), ASSUMED_DTYPE, checkpoint)
    try:
        meta = build_on_meta(source, dtype, trust_remote_code=trust_remote_code)
    except BadInputError as error:
        if checkpoint is None or not checkpoint.has_shapes or checkpoint.gguf_architecture is not None:
            raise
        return analyze_headers(source, checkpoint, dtype, catalog, reason=error, assumptions=notes)
    try:
        _check_consistency(meta, catalog)
        inventory, missing = _inventory(meta, dtype, catalog)
        inventory = with_checkpoint(inventory, checkpoint, meta, catalog)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        raise BadInputError(f"describes no decoder that can be analysed: {reason}.", where=source.name) from error
    model_type = str(meta.config.model_type)
    template = catalog.templates.find(model_type)
    return ModelAnalysis(
        analysis_status="partial" if missing else "complete",
        model=AnalyzedModel(
            model_path=source.name,
            model_type=model_type,
            trust_remote_code=trust_remote_code,
            transformers_version=meta.transformers_version,
            architecture=type(meta.model).__name__,
            revision=source.revision,
            config_sha256=source.config_sha256,
        ),
        quantization_targets=QuantizationTargets(
            linear_layer_count=inventory.quantizable_count,
            exclude_defaults=template.exclude_layers if template else ("lm_head",),
            has_non_linear_experts=any(family.experts for family in inventory.layers),
        ),
        risks=(*checkpoint_risks(source, inventory), *_risks(source, inventory, template, meta, catalog)),
        inventory=inventory,
        missing=tuple(missing),
        assumptions=notes,
    )
