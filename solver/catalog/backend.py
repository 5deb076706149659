"""Serving stacks: which schemes they load on which class of hardware, and what memory they take."""

from typing import Literal, get_args

from pydantic import Field, PositiveInt, field_validator

from solver.catalog.base import Band, Profile, Quantity
from solver.catalog.caches import Recurrence
from solver.catalog.reader import Reader
from solver.catalog.serving import Reserve, Serve

Support = Literal["native", "emulated", "unsupported", "unknown"]
LayerKind = Literal["dense", "experts"]
ExportFormat = Literal["quark", "gguf"]
ImageCaches = Literal["own", "slots", "text"]
DtypeOfState = Literal["model", "bfloat16", "float16", "float32"]
FootprintName = Literal["weights", "kv_cache", "activation", "runtime"]


class Padding(Profile):
    """What a kernel rounds an expert's sizes up to, in elements on one device."""

    hidden: int = Field(gt=0)
    intermediate: int = Field(gt=0)
    source: str = Field(min_length=3)


class SupportRow(Profile):
    """Verdict for some schemes, on some layer kinds, on some classes of hardware.

    A combination that no row names is unsupported.
    """

    schemes: tuple[str, ...]
    kinds: tuple[LayerKind, ...]
    hardware: tuple[str, ...]
    support: Support
    speed: Literal["w_and_a", "weight_only", "none"] | None = None
    condition: str | None = Field(default=None, description="what else has to hold where the plan is served")
    environment: dict[str, str] = Field(default_factory=dict, description="environment variables that the kernels need")
    padding: Padding | None = Field(default=None, description="for experts, if their weights are padded in service")
    model_types: tuple[str, ...] = Field(default=(), description="only for these, if any are named")
    out_features_multiple: int = 1
    in_features_multiple: int = 1


class FusedGroup(Profile):
    """Roles of one block that the stack loads as one module, so that they must share a scheme."""

    name: str
    roles: tuple[str, ...]
    stand_ins: dict[str, str] = Field(
        default_factory=dict, description="roles that some blocks lack, each with the one that is loaded in its place"
    )


class NativeRoles(Profile):
    """Roles that the stack loads in the model's own type only, in some models."""

    model_types: tuple[str, ...]
    roles: tuple[str, ...]
    source: str = Field(min_length=3)


class Activations(Profile):
    """What the stack batches, and what it holds for that, from which the activation peak follows.

    The sampler's figures are bytes for each entry of the vocabulary and each sequence.
    """

    max_batched_tokens: Quantity = Field(description="tokens that are batched by default")
    hidden_copies: Band = Field(description="tensors as wide as the hidden state that are live beside the widest part")
    sampler_resident: Quantity = Field(description="what the sampler holds all the time")
    sampler_peak: Band = Field(description="what it holds while it samples")


class KVPool(Profile):
    """A pool of equal blocks from which the caches of all layers are drawn."""

    batches_in_flight: int = Field(gt=0, description="batches whose tokens are held at the same time")
    latent_block_multiple: int = Field(gt=0, description="tokens, for latent attention beside recurrent states")
    state_blocks: dict[Recurrence, PositiveInt] = Field(
        description="copies of a recurrent state that one sequence takes, by each kind of recurrence"
    )
    state_blocks_without_attention: int = Field(gt=0, description="copies where all layers are recurrent")
    source: str

    @field_validator("state_blocks")
    @classmethod
    def _has_each_kind(cls, value: dict[Recurrence, int]) -> dict[Recurrence, int]:
        absent = set(get_args(Recurrence)) - set(value)
        if absent:
            raise ValueError(f"lacks {', '.join(sorted(absent))}")
        return value


class StateDtypes(Profile):
    """Types of a recurrent state's tensors where the stack does not take those that vLLM takes.

    A type that the model's configuration states for its recurrent tensor wins over `recurrent`.
    """

    window: DtypeOfState
    recurrent: DtypeOfState
    source: str = Field(min_length=3)


class Backend(Profile):
    """One serving stack at one version."""

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    version: str
    summary: str
    loads: tuple[ExportFormat, ...] = Field(description="formats of AMD Quark's exports that it reads")
    memory_fraction: Quantity = Field(description="share of the device's memory that the stack takes by default")
    memory_reserve: Reserve | None = Field(
        default=None, description="what the stack leaves by default, where it computes its share from that"
    )
    fraction_bounds: tuple[FootprintName, ...] = Field(
        default=("weights", "kv_cache", "activation", "runtime"), description="parts of the bill that the share bounds"
    )
    kv_block_tokens: Quantity
    kv_pool: KVPool | None = Field(default=None, description="none: the caches of the layers add up")
    image_caches: ImageCaches = Field(
        default="own",
        description="layers that attend to an image keep its tokens alone (own); each token of text or image has a "
        "slot in every layer (slots); they have a cache of text like all others, and no image is kept (text)",
    )
    state_dtypes: StateDtypes | None = Field(default=None, description="none: the types that the inventory states")
    activations: Activations
    non_torch: dict[Literal["single", "parallel"], Band]
    graphs: Band
    bandwidth_fraction: Quantity
    compute_fraction: Quantity = Field(description="of the peak rate, where a device has no sustained one")
    fused_groups: tuple[FusedGroup, ...]
    vocab_multiple: Quantity | None = Field(
        default=None, description="of which the rows of embeddings and heads are a multiple; none: of any number"
    )
    native_only_roles: tuple[str, ...]
    native_only_in: tuple[NativeRoles, ...] = Field(default=(), description="further such roles of some models")
    dequantized_roles: tuple[str, ...] = Field(
        default=(), description="roles that are loaded in the model's own type, however they are stored"
    )
    divides_heads: bool = Field(description="whether tensor parallelism must divide the attention heads")
    kv_cache_fp8: tuple[str, ...] = Field(description="classes of hardware with an fp8 KV cache")
    attention_fp8: tuple[str, ...] = Field(description="classes of hardware where it loads Quark's fp8 attention")
    support: tuple[SupportRow, ...]
    support_source: str
    reader: Reader | None = Field(default=None, description="how it reads the patterns of Quark's exports")
    serve: Serve | None = Field(default=None, description="its serving command, where it has one")

    def native_only(self, role: str, model_type: str) -> bool:
        """Return whether layers of a role of a model are loaded in the model's own type only."""
        further = (row.roles for row in self.native_only_in if model_type in row.model_types)
        return role in self.native_only_roles or any(role in roles for roles in further)

    @property
    def vocab_rows(self) -> int:
        """Rows of which embeddings and heads have a multiple."""
        return 1 if self.vocab_multiple is None else int(self.vocab_multiple.value)

    @property
    def outside_fraction(self) -> tuple[FootprintName, ...]:
        """Parts of the bill that the stack takes beside its share of the device."""
        return tuple(name for name in get_args(FootprintName) if name not in self.fraction_bounds)
