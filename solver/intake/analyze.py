"""The intake: from a model's configuration to its analysis."""

from typing import Any

from solver.catalog import Catalog
from solver.errors import BadInputError, NoDecoderError
from solver.intake.analysis import AnalyzedModel, ModelAnalysis, QuantizationTargets
from solver.intake.built_parts import with_parts
from solver.intake.caches import block_config, cache_groups, common_heads
from solver.intake.checkpoint import checkpoint_of, checkpoint_risks, weight_type, with_checkpoint, with_gguf_config
from solver.intake.from_headers import refuse_encoder
from solver.intake.headers_only import analyze_headers
from solver.intake.inventory import Inventory, LayerFamily, MixtureOfExperts, ParameterGroup
from solver.intake.layers import find_convolutions, find_layers, not_quantized, to_families
from solver.intake.meta import MetaModel, build_on_meta
from solver.intake.mtp import find_mtp
from solver.intake.parameters import other_parameters
from solver.intake.published import PublishedCount, possible_differences, published_count
from solver.intake.reading import Reading, read_configuration, stated_dtype
from solver.intake.record import DTYPE_BYTES
from solver.intake.risks import analysis_risks
from solver.intake.shares import config_differences, part_shares
from solver.intake.source import ModelSource
from solver.intake.stored import StoredQuantization, stored_quantization
from solver.intake.stored_risk import unsized
from solver.intake.stored_sizes import Storage, StoredSize, saved_buffers
from solver.intake.translate import real_names, real_path, uncounted_groups

ASSUMED_DTYPE = "bfloat16"


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


def _real_parts(
    layers: tuple[LayerFamily, ...], others: tuple[ParameterGroup, ...], text: Any, reading: Reading, catalog: Catalog
) -> tuple[tuple[LayerFamily, ...], tuple[ParameterGroup, ...]]:
    """Return layers and other parameters as the real model has them, where another type was read in its place."""
    if reading.translation is None:
        return layers, others
    uncounted = uncounted_groups(reading.translation, text)
    return real_names(layers, reading.translation, catalog.roles), (*others, *uncounted)


def _inventory(
    meta: MetaModel, dtype: str, stored: StoredQuantization | None, reading: Reading, catalog: Catalog
) -> tuple[Inventory, list[str]]:
    text, roles, translation = meta.text_config, catalog.roles, reading.translation
    found = find_layers(meta.modules)
    stored_as = stored.name_of if stored is not None else not_quantized
    built = to_families(found, roles, stored_as), other_parameters(meta.parameters, found, roles, stored_as)
    layers, others = _real_parts(*built, text, reading, catalog)
    mtp = find_mtp(catalog.mtp.of(reading.model_type), meta.model, text, layers, roles, stored_as)
    everything = (*layers, *(mtp.all_families if mtp is not None else ()))
    used = {family.stored for family in everything} | {group.stored for group in others}
    quantized = stored.record(used) if stored is not None else None
    storage = Storage(quantized, text.hidden_size, DTYPE_BYTES[dtype])
    buffers = saved_buffers(meta.modules) if translation is None or translation.buffers else StoredSize()
    extra = mtp.size(storage) if mtp is not None else StoredSize()
    size = buffers + storage.of(layers, others) + extra
    caches, missing = cache_groups(text, catalog.config_fields, catalog.cache_fields, meta.config)
    context = catalog.config_fields.first("context", text)
    uncounted = sum(group.elements for group in others) - sum(group.elements for group in built[1])
    inventory = Inventory(
        dtype=dtype,
        elements_total=sum(parameter.numel() for _, parameter in meta.parameters) + uncounted,
        checkpoint_bytes=size.size_bytes if storage.known else None,
        stored_elements=size.elements if storage.known else None,
        hidden_size=text.hidden_size,
        vocab_size=text.vocab_size,
        blocks=text.num_hidden_layers,
        attention_heads=common_heads(text),
        max_context=None if context is None else int(context),
        tied_embeddings=any(family.tied for family in layers),
        layers=layers,
        others=others,
        caches=caches,
        moe=_moe(layers, meta, catalog),
        buffer_bytes=buffers.size_bytes,
        convolutions=tuple(dict.fromkeys(real_path(path, translation) for path in find_convolutions(meta.modules))),
        mtp=mtp.record(extra.size_bytes if storage.known else None) if mtp is not None else None,
        parts=part_shares(layers, others, storage),
        differences=config_differences(everything, others, storage, buffers, mtp, catalog.stored_tensors),
        quantized=quantized,
    )
    return inventory, [*missing, *reading.missing, *unsized(quantized)]


def _reason(error: Exception) -> str:
    """Return what an error says: of a configuration without a field, that it does not state it."""
    if isinstance(error, AttributeError) and isinstance(error.name, str):
        return f"it states no {error.name}"
    return " ".join(str(error).split())[:300]


def _published(source: ModelSource, inventory: Inventory, catalog: Catalog) -> PublishedCount | None:
    """Return what is published of a bundled model's checkpoint; of any other source nothing is known to be its own."""
    model = catalog.models.find(source.name) if source.kind == "zoo" else None
    return None if model is None else published_count(model, inventory, catalog.stored_tensors)


def analyze_source(source: ModelSource, catalog: Catalog, *, trust_remote_code: bool = False) -> ModelAnalysis:
    """Return the analysis of a model, built on torch's meta device from its configuration.

    Headers of the checkpoint, where they are at hand, say what is stored; for an architecture that transformers has
    no class for they say everything.

    Raises
    ------
    BadInputError
        If the configuration cannot be read, or describes no decoder with linear layers.

    """
    source = with_gguf_config(source, catalog)
    checkpoint = checkpoint_of(source)
    stored = stored_quantization(source, catalog)
    # A quantized checkpoint's tensors do not have the model's own type.
    plain = checkpoint if stored is None else None
    try:
        reading = read_configuration(source, catalog, trust_remote_code=trust_remote_code)
        dtype, notes = weight_type(stated_dtype(reading.source), ASSUMED_DTYPE, plain)
        meta = with_parts(build_on_meta(reading.source, dtype, trust_remote_code=trust_remote_code), reading, dtype)
    except NoDecoderError:
        raise
    except BadInputError as error:
        if checkpoint is None or not checkpoint.has_shapes or checkpoint.gguf_architecture is not None:
            raise
        dtype, notes = weight_type(stated_dtype(source), ASSUMED_DTYPE, checkpoint)
        return analyze_headers(source, checkpoint, dtype, catalog, reason=error, assumptions=notes)
    try:
        _check_consistency(meta, catalog)
        inventory, missing = _inventory(meta, dtype, stored, reading, catalog)
        inventory = with_checkpoint(inventory, checkpoint, meta, catalog)
        refuse_encoder(inventory.layers, catalog, source.name)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise BadInputError(
            f"describes no decoder that can be analysed: {_reason(error)}.",
            where=source.name,
            mend="Plans are made for decoders of text, from the config.json of the checkpoint as it was published.",
        ) from error
    model_type = reading.model_type
    template = catalog.templates.find(model_type)
    translation = reading.translation
    published = _published(source, inventory, catalog)
    return ModelAnalysis(
        analysis_status="partial" if missing else "complete",
        model=AnalyzedModel(
            model_path=source.name,
            model_type=model_type,
            trust_remote_code=trust_remote_code,
            transformers_version=meta.transformers_version,
            architecture=type(meta.model).__name__,
            read_as=None if translation is None else translation.reads_as,
            revision=source.revision,
            config_sha256=source.config_sha256,
        ),
        quantization_targets=QuantizationTargets(
            linear_layer_count=inventory.quantizable_count,
            exclude_defaults=template.exclude_layers if template else ("lm_head",),
            has_non_linear_experts=any(family.experts for family in inventory.layers),
        ),
        risks=(
            *checkpoint_risks(source, inventory),
            *analysis_risks(model_type, inventory, template, meta, catalog),
        ),
        inventory=inventory,
        published=published,
        possible_differences=()
        if published is not None
        else possible_differences(inventory, model_type, catalog.stored_tensors),
        missing=tuple(missing),
        assumptions=(*notes, *(() if translation is None else (translation.note,))),
    )
