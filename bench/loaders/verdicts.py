"""What a loader said of all layers of all plans, kept as small as it is told: names without their numbers."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent.parent / "tests" / "data"
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")
NATIVE_METHODS = frozenset({"UnquantizedLinearMethod", "UnquantizedFusedMoEMethod"})


@dataclass(frozen=True)
class Verdict:
    """What a loader makes of a layer: keys and method, or the error that loading would raise."""

    weight: str | None = None
    activation: str | None = None
    method: str | None = None
    error: str | None = None

    @property
    def native(self) -> bool:
        """Whether the layer is left as it is."""
        return self.error is None and self.method in NATIVE_METHODS


@dataclass(frozen=True)
class Read:
    """The verdicts on one plan, with the plan as it was written when the loader was asked."""

    global_scheme: str
    exclude_layers: tuple[str, ...]
    layer_quant_config: dict[str, str]
    kv_cache: str | None
    layers: dict[str, Verdict]


@dataclass(frozen=True)
class Architecture:
    """What a loader says of an architecture, and its verdicts by kind of plan.

    `homes` are the layers that linears are loaded into: "" for one that the loader never asks about, None for none.
    """

    title: str
    homes: dict[str, str | None]
    plans: dict[str, Read] = field(default_factory=dict)


def _folded(values: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Return names without numbers, each with the numbers of every value."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, value in values.items():
        numbers = ",".join(_NUMBER.findall(name))
        found.setdefault(_NUMBER.sub("#", name), {}).setdefault(json.dumps(value), []).append(numbers)
    return found


def _packed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same shorter: one value where all numbers have it, with the numbers besides."""
    return {name: {value: " ".join(numbers) for value, numbers in by.items()} for name, by in _folded(values).items()}


def _unpacked(packed: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, by_value in packed.items():
        for value, numbers in by_value.items():
            for group in numbers.split(" "):
                parts = iter(group.split(","))
                found[re.sub("#", lambda _, parts=parts: next(parts), name)] = json.loads(value)
    return found


def _home_numbers(homes: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the homes by name without numbers: each has the numbers of its blocks, experts have their module's."""
    found: dict[str, str | None] = {}
    for name, home in homes.items():
        key, value = _NUMBER.sub("#", name), None if home is None else _NUMBER.sub("#", home)
        if found.setdefault(key, value) != value:
            raise ValueError(f"{name} is loaded into {home}, unlike its neighbours")
    return found


def home(homes: Mapping[str, str | None], name: str) -> str | None:
    """Return the layer that a linear is loaded into."""
    into = homes[_NUMBER.sub("#", name)]
    numbers = iter(_NUMBER.findall(name))
    return None if into is None else re.sub("#", lambda _: next(numbers), into)


def write(path: Path, source: str, versions: Mapping[str, str], found: Mapping[str, Architecture]) -> None:
    """Write all verdicts, each kind of them once."""
    kinds = {v: None for a in found.values() for read in a.plans.values() for v in read.layers.values()}
    place = {verdict: number for number, verdict in enumerate(kinds)}
    document = {
        "source": source,
        "versions": dict(versions),
        "verdicts": [{k: v for k, v in vars(verdict).items() if v is not None} for verdict in kinds],
        "architectures": {
            name: {
                "title": item.title,
                "homes": _home_numbers(item.homes),
                "plans": {
                    kind: {
                        "global_scheme": read.global_scheme,
                        "exclude_layers": read.exclude_layers,
                        "layer_quant_config": read.layer_quant_config,
                        "kv_cache": read.kv_cache,
                        "layers": _packed({layer: place[verdict] for layer, verdict in read.layers.items()}),
                    }
                    for kind, read in item.plans.items()
                },
            }
            for name, item in found.items()
        },
    }
    # A line for each plan: as small as may be, and still told apart where one changes.
    text = json.dumps(document, separators=(",", ":")).replace('{"global_scheme"', '\n{"global_scheme"')
    path.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> tuple[dict[str, str], dict[str, Architecture]]:
    """Return the versions that answered, and what they said."""
    document = json.loads(path.read_text(encoding="utf-8"))
    verdicts = [Verdict(**item) for item in document["verdicts"]]
    return document["versions"], {
        name: Architecture(
            item["title"],
            item["homes"],
            {
                kind: Read(
                    plan["global_scheme"],
                    tuple(plan["exclude_layers"]),
                    plan["layer_quant_config"],
                    plan["kv_cache"],
                    {layer: verdicts[place] for layer, place in _unpacked(plan["layers"]).items()},
                )
                for kind, plan in item["plans"].items()
            },
        )
        for name, item in document["architectures"].items()
    }
