"""What the installed Quark declares of itself, in the words of the profiles. Nothing is measured here."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from solver.catalog.algorithm import AlgorithmConfig
from solver.catalog.scheme import TensorFormat
from solver.catalog.template import Template
from solver.quark.algorithms import read_algorithms
from solver.quark.installed import PACKAGE, quark_torch, quark_version, quiet

_OUR_FORMATS = {"fp4": "fp4_e2m1"}
"""Formats that the profiles spell otherwise."""

_NARROW = frozenset({"fp4", "int4"})
"""Of two stages the wide one holds the scales, or the grid that the narrow one lies on."""


@dataclass(frozen=True)
class SchemeFacts:
    """The operands of a scheme; None where it leaves one alone, or where Quark does not say enough to describe it."""

    weight: TensorFormat | None
    activation: TensorFormat | None
    undescribed: str | None = None


@dataclass(frozen=True)
class QuarkFacts:
    """Everything of the installed package that the profiles speak of too."""

    version: str
    schemes: dict[str, SchemeFacts]
    algorithms: dict[str, AlgorithmConfig | None]
    templates: dict[str, Template]
    kv_schemes: tuple[str, ...]


def source_of(version: str) -> str:
    """Return the source that is noted of what was read from an installed package."""
    return f"{PACKAGE} {version}, read from the installed package"


def _format(spec: Any, *, of_inputs: bool) -> TensorFormat | None:
    """Return one operand as Quark specifies it.

    Raises
    ------
    ValueError
        If Quark does not know the width of its type, or the granularity is none that a profile can name.
    """
    if spec is None:
        return None
    stages = spec if isinstance(spec, list) else [spec]
    found = next((stage for stage in stages if stage.dtype.value in _NARROW), stages[0])
    granularity = found.qscheme.name if found.qscheme else "per_group"
    if granularity == "per_channel" and found.ch_axis == 1:
        granularity = "per_token"
    return TensorFormat.model_validate(
        {
            "format": _OUR_FORMATS.get(found.dtype.value, found.dtype.value),
            "bits": found.dtype.to_bitwidth(),
            "granularity": granularity,
            "group_size": found.group_size,
            "symmetric": found.symmetric is not False,
            "dynamic": stages[0].is_dynamic if of_inputs else None,
        }
    )


def _scheme(config: Any) -> SchemeFacts:
    try:
        return SchemeFacts(_format(config.weight, of_inputs=False), _format(config.input_tensors, of_inputs=True))
    except ValueError as error:  # of pydantic too
        return SchemeFacts(None, None, undescribed=" ".join(str(error).split())[:200])


def _names(value: str | Iterable[str] | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())


def _template(found: Any, version: str) -> Template:
    return Template(
        model_type=found.model_type,
        kv_layers=_names(found.kv_layers_name),
        q_layers=_names(found.q_layer_name),
        gate_up_layers=_names(found.gate_up_layers_name),
        exclude_layers=_names(found.exclude_layers_name),
        algorithms=tuple(name for name, config in found.algo_config.items() if config is not None),
        file2file_converters=bool(found.f2f_weight_converters),
        source=source_of(version),
    )


def read_facts() -> QuarkFacts:
    """Return what the installed package declares.

    Raises
    ------
    MissingError
        If it cannot be imported.
    """
    templates = quark_torch().LLMTemplate
    version = quark_version() or "unknown"
    with quiet():
        schemes = {
            name: _scheme(templates._SCHEME_COLLECTION.get_scheme(name).config)
            for name in templates.get_supported_schemes()
        }
        return QuarkFacts(
            version=version,
            schemes=schemes,
            algorithms=read_algorithms(),
            templates={name: _template(templates.get(name), version) for name in templates.list_available()},
            kv_schemes=tuple(templates._SUPPORTED_KV_CACHE_SCHEMES),
        )
