"""Checks plans by facts of its own: published tables, names of layers, plain fnmatch; nothing of `solver.rules`.

What it knows comes from tests/data/serving_support.csv, from the names of Quark's linears and vLLM's packed modules
as written below, and from amd-quark 0.13 as tried. It reads a plan as Quark does, layer by layer.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from solver.catalog import Catalog
from solver.intake.inventory import Inventory, LayerFamily
from solver.plan.document import Alternative, Answer
from tests.data import rows

FUSED = (
    ("self_attn", ("q_proj", "k_proj", "v_proj")),
    ("self_attn", ("q_a_proj", "kv_a_proj_with_mqa")),
    ("mlp", ("gate_proj", "up_proj")),
    ("shared_experts", ("gate_proj", "up_proj")),
)
"""vLLM's packed modules: the leaves that one module loads, and the end of the path before them."""

CRASHES = {
    "awq": ("nvfp4", "int4_fp8"),
    "autosmoothquant": ("nvfp4", "int4_fp8"),
    "gptq": ("nvfp4", "int4_fp8", "mxfp6", "mx6"),
    "gptaq": ("nvfp4", "int4_fp8", "mxfp6", "mx6"),
    "qronos": ("nvfp4", "int4_fp8", "mxfp6", "mx6"),
}
"""What amd-quark 0.13 stops at, by the beginning of the scheme's name."""

STRICT_GROUPS = ("int4_wo_", "uint4_wo_", "int4_wa_")
"""Schemes whose groups must divide the inputs: real Quark raises."""


@cache
def _cells() -> dict[tuple[str, str, str], dict[str, dict[str, str]]]:
    table: dict[tuple[str, str, str], dict[str, dict[str, str]]] = defaultdict(dict)
    for row in rows("serving_support.csv"):
        for layers in ("dense", "moe") if row["layers"] == "any" else (row["layers"],):
            for hardware_class in row["hardware"].split():
                table[row["stack"], row["scheme"], layers][hardware_class] = row
    return table


def published(stack: str, scheme: str, layers: str, hardware_class: str, model_type: str) -> dict[str, str] | None:
    """Return the published verdict on a scheme, or None where it is unsupported."""
    found = _cells()[stack, scheme, layers]
    row = found.get(hardware_class, found.get("*"))
    return None if row is None or row["model_type"] not in {"", model_type} else row


@dataclass(frozen=True)
class Layer:
    """One linear layer with its full name."""

    name: str
    family: LayerFamily

    @property
    def leaf(self) -> str:
        return self.name.rsplit(".", 1)[-1]

    @property
    def parent(self) -> str:
        return self.name.rsplit(".", 1)[0]

    @property
    def is_expert(self) -> bool:
        return self.family.experts > 0


def layers_of(inventory: Inventory) -> Iterator[Layer]:
    """Yield every linear layer that Quark can see; of the experts of a block the first and the last."""
    for family in inventory.layers:
        if not family.quantizable:
            continue
        for block in family.block_indices or (None,):
            path = family.path(block)
            experts = (0, family.experts - 1) if family.experts else (0,)
            for expert in dict.fromkeys(experts):
                yield Layer(path.replace("{expert}", str(expert)), family)


def scheme_of(plan: Alternative, name: str) -> str:
    """Return the scheme that Quark gives a layer: excluded, first matching pattern, global."""
    if any(fnmatchcase(name, pattern) for pattern in plan.exclude_layers):
        return "native"
    return next(
        (scheme for pattern, scheme in plan.layer_quant_config.items() if fnmatchcase(name, pattern)),
        plan.global_scheme,
    )


@dataclass(frozen=True)
class Checked:
    """One plan as Quark reads it."""

    answer: Answer
    plan: Alternative
    inventory: Inventory
    catalog: Catalog

    def violations(self) -> list[str]:
        """Return what is wrong with the plan, each as a rule and a layer."""
        given = {layer: scheme_of(self.plan, layer.name) for layer in layers_of(self.inventory)}
        found = [
            *self._budget(),
            *self._fused(given),
            *self._experts(given),
            *self._kernels(given),
            *self._groups(given),
            *self._algorithms(set(given.values())),
            *self._cache(given),
        ]
        if set(given.values()) == {"native"}:
            found.append("something-is-quantized")
        return found

    @property
    def _stack(self) -> str:
        assert self.answer.service is not None
        return self.answer.service.backend

    @property
    def _hardware_class(self) -> str:
        assert self.answer.service is not None
        return self.catalog.hardware.get(self.answer.service.hardware).kernel_class or "unknown"

    def _budget(self) -> Iterator[str]:
        bill, service = self.plan.footprint, self.answer.service
        assert bill is not None
        assert service is not None
        parts = bill.weights_bytes + bill.kv_cache_bytes + bill.activation_bytes + bill.runtime_bytes
        if parts != bill.total_bytes:
            yield f"the parts add up to {parts}, not {bill.total_bytes}"
        bounded = bill.total_bytes if service.budget_scope == "total" else bill.weights_bytes
        if bounded > service.budget_bytes:
            yield f"budget-holds {bounded}"

    def _fused(self, given: dict[Layer, str]) -> Iterator[str]:
        if self._stack not in {"vllm", "sglang"}:
            return
        groups: dict[tuple[str, tuple[str, ...]], set[str]] = defaultdict(set)
        for layer, scheme in given.items():
            for end, leaves in FUSED:
                if layer.leaf in leaves and layer.parent.endswith(end) and not layer.is_expert:
                    groups[layer.parent, leaves].add(scheme)
        for (parent, _), schemes in groups.items():
            if len(schemes) > 1:
                yield f"fused-groups-share-scheme {parent} {sorted(schemes)}"

    def _experts(self, given: dict[Layer, str]) -> Iterator[str]:
        if self._stack not in {"vllm", "sglang"}:
            return
        modules: dict[str, set[str]] = defaultdict(set)
        for layer, scheme in given.items():
            if layer.is_expert:
                modules[layer.name.split(".experts.")[0]].add(scheme)
        for parent, schemes in modules.items():
            if len(schemes) > 1:
                yield f"experts of {parent} differ {sorted(schemes)}"

    def _kernels(self, given: dict[Layer, str]) -> Iterator[str]:
        if self._stack == "none":
            return
        for layer, scheme in given.items():
            if scheme == "native":
                continue
            if layer.leaf in {"lm_head", "embed_tokens"} or layer.name.endswith((".gate", ".router")):
                yield f"role-stays-native {layer.name}"
            kind = "moe" if layer.is_expert else "dense"
            row = published(self._stack, scheme, kind, self._hardware_class, self.answer.model.model_type)
            allowed = {"native", "emulated"} if self.answer.request["allow_emulated"] else {"native"}
            if row is None or row["support"] not in allowed:
                yield f"kernel {layer.name} {scheme}"
            elif layer.leaf in {"o_proj", "down_proj"}:
                shard = layer.family.in_features / self.answer.request["tensor_parallel"]
                if shard % int(row["in_multiple"] or 1):
                    yield f"shard-divides {layer.name} {scheme} {shard}"

    def _groups(self, given: dict[Layer, str]) -> Iterator[str]:
        for layer, scheme in given.items():
            group = scheme.rsplit("_", 1)[-1]
            if scheme.startswith(STRICT_GROUPS) and group.isdecimal() and layer.family.in_features % int(group):
                yield f"group-divides-in-features {layer.name} {scheme}"

    def _algorithms(self, schemes: set[str]) -> Iterator[str]:
        for name in (self.plan.algorithm or "").split(","):
            for scheme in schemes:
                if scheme.startswith(CRASHES.get(name, ("?",))):
                    yield f"algorithm-runs-with-all-schemes {name} {scheme}"

    def _cache(self, given: dict[Layer, str]) -> Iterator[str]:
        if self.plan.kv_cache_scheme is None:
            return
        patterns = self.catalog.templates.get(self.answer.model.model_type).kv_layers
        entries = dict(self.plan.layer_quant_config)
        for pattern in patterns:
            schemes = {scheme for layer, scheme in given.items() if fnmatchcase(layer.name, pattern)}
            if len(schemes) > 1:
                yield f"kv-layers-share-scheme {pattern} {sorted(schemes)}"
            # Quark adds an entry of its own for each pattern, unless its text is excluded.
            base = self._kv_base(pattern, entries)
            if not any(fnmatchcase(pattern, glob) for glob in self.plan.exclude_layers):
                entries[pattern] = base
            if schemes and schemes != {"native"} and schemes != {base}:
                yield f"Quark gives {pattern} the scheme {base}, not {sorted(schemes)}"

    def _kv_base(self, pattern: str, entries: dict[str, str]) -> str:
        """Return what Quark puts on the layers of a KV pattern: its own entry, else the first that says attention."""
        own = [name for glob, name in entries.items() if fnmatchcase(pattern, glob)]
        near = [name for glob, name in entries.items() if glob.endswith(pattern.strip("*")) or "att" in glob]
        return next(iter(own + near), self.plan.global_scheme)
