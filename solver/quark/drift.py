"""The difference between the profiles and the installed Quark: what is new there, gone, or otherwise."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import Field

from solver.catalog import Catalog
from solver.catalog.algorithm import Algorithm, AlgorithmConfig
from solver.catalog.scheme import Scheme, TensorFormat
from solver.catalog.template import Template
from solver.plan.compare import differences
from solver.plan.document import Part
from solver.quark.facts import QuarkFacts, SchemeFacts

Kind = Literal["scheme", "algorithm", "template", "KV scheme"]
_ORDERED = {"kv_layers", "q_layers", "gate_up_layers", "exclude_layers"}


class DriftItem(Part):
    """One thing that the profiles and the installed Quark do not say alike."""

    kind: Kind
    name: str
    change: Literal["new", "gone", "changed"] = Field(description="in the installed Quark, beside the profiles")
    field: str | None = Field(default=None, description="of the profile, where it is otherwise")
    profiles: str | None = Field(default=None, description="what the profiles say")
    quark: str | None = Field(default=None, description="what the installed Quark says")


def _presence(kind: Kind, ours: Iterable[str], theirs: Iterable[str]) -> Iterator[DriftItem]:
    ours, theirs = set(ours), set(theirs)
    for name in sorted(theirs - ours):
        yield DriftItem(kind=kind, name=name, change="new")
    for name in sorted(ours - theirs):
        yield DriftItem(kind=kind, name=name, change="gone")


def _changes(kind: Kind, name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[DriftItem]:
    for item in differences("", ours, theirs):
        yield DriftItem(
            kind=kind, name=name, change="changed", field=item.where, profiles=item.expected, quark=item.found
        )


def _format(ours: TensorFormat | None, theirs: TensorFormat | None) -> tuple[Any, Any]:
    """Return one operand twice, without what one side does not state.

    Quark's width of a type is no number of bits for one weight where a block shares some of them (mx6, mx9, bfp16).
    """
    unstated = (
        {"bits", "dynamic"} if ours is None or theirs is None or None in {ours.dynamic, theirs.dynamic} else {"bits"}
    )
    first, second = (
        None if item is None else item.model_dump(mode="json", exclude=unstated) for item in (ours, theirs)
    )
    return first, second


def _scheme(ours: Scheme, theirs: SchemeFacts) -> Iterator[DriftItem]:
    if theirs.undescribed is not None:
        return
    weight, activation = _format(ours.weight, theirs.weight), _format(ours.activation, theirs.activation)
    both = ({"weight": weight[side], "activation": activation[side]} for side in (0, 1))
    yield from _changes("scheme", ours.name, *both)


def _template(ours: Template, theirs: Template) -> Iterator[DriftItem]:
    first, second = ours.model_dump(mode="json"), theirs.model_dump(mode="json")
    for fields in (first, second):
        del fields["source"]
        # Only what is looked up by name has no order.
        fields |= {
            name: sorted(value) for name, value in fields.items() if isinstance(value, list) and name not in _ORDERED
        }
    yield from _changes("template", ours.model_type, first, second)


def _algorithm(ours: Algorithm, theirs: AlgorithmConfig | None) -> Iterator[DriftItem]:
    if ours.config is None:
        return
    first, second = (None if item is None else item.model_dump(mode="json") for item in (ours.config, theirs))
    if first is not None and second is not None:
        for config in (first, second):
            config["required"] = sorted(config["required"])
            config["fields"] = {name: sorted(kinds) for name, kinds in config["fields"].items()}
        if ours.config.standard is None:  # not every algorithm of Quark's for llama is written out
            del first["standard"], second["standard"]
    yield from _changes("algorithm", ours.name, {"config": first}, {"config": second})


def drift_between(catalog: Catalog, facts: QuarkFacts) -> tuple[DriftItem, ...]:
    """Return everything that the profiles and the installed Quark do not say alike."""
    schemes = {scheme.name: scheme for scheme in catalog.schemes}
    algorithms = {algorithm.name: algorithm for algorithm in catalog.algorithms}
    templates = {template.model_type: template for template in catalog.templates}
    return (
        *_presence("scheme", schemes, facts.schemes),
        *(
            item
            for name in sorted(schemes.keys() & facts.schemes)
            for item in _scheme(schemes[name], facts.schemes[name])
        ),
        *_presence("algorithm", algorithms, facts.algorithms),
        *(
            item
            for name in sorted(algorithms.keys() & facts.algorithms)
            for item in _algorithm(algorithms[name], facts.algorithms[name])
        ),
        *_presence("template", templates, facts.templates),
        *(
            item
            for name in sorted(templates.keys() & facts.templates)
            for item in _template(templates[name], facts.templates[name])
        ),
        *_presence("KV scheme", (scheme.name for scheme in catalog.kv_schemes), facts.kv_schemes),
    )
