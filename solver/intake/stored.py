"""Notices a checkpoint that is quantized already, and says in which format each of its layers is stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from solver.catalog import Catalog
from solver.catalog.roles import RoleKind
from solver.catalog.stored_format import StoredFormat
from solver.errors import BadInputError
from solver.intake.source import ModelSource
from solver.intake.stored_layout import Quantized, StoredLayout
from solver.intake.stored_names import NameTable
from solver.intake.stored_place import find_block, text_config, with_method
from solver.intake.stored_statements import Facts, Statement, flatten, listed, statements

_NEVER_BY_NAME = frozenset({"embedding", "router"})
"""Kinds whose parameters are no linear layers: only a format that covers the kind stores them."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A statement and the formats that it may mean, the one that asks most of it first."""

    statement: Statement
    formats: tuple[StoredFormat, ...]


@dataclass(frozen=True)
class StoredQuantization:
    """How a checkpoint is quantized: the method as it is named, the place that names it, and its formats by layer."""

    method: str
    place: str
    kv_cache: str | None
    unknown: tuple[str, ...]
    _rules: tuple[_Rule, ...] = field(repr=False)
    _block: Mapping[str, Any] = field(repr=False)
    _catalog: Catalog = field(repr=False)

    @property
    def _text_only(self) -> bool:
        return self.place.startswith("text_config.")

    @cached_property
    def _named(self) -> NameTable[_Rule]:
        entries = ((target, rule) for rule in self._rules for target in rule.statement.targets or ())
        return self._table(entries)

    @cached_property
    def _formats(self) -> dict[str, StoredFormat]:
        return {stored.name: stored for rule in self._rules for stored in rule.formats}

    @cached_property
    def _excluded(self) -> dict[str, NameTable[bool]]:
        return {
            name: self._table((entry, True) for key in stored.excludes for entry in listed(self._block.get(key)))
            for name, stored in self._formats.items()
        }

    @cached_property
    def _never(self) -> dict[str, NameTable[bool]]:
        return {name: self._table((entry, True) for entry in stored.never) for name, stored in self._formats.items()}

    def _table(self, entries: Iterable[tuple[str, Any]]) -> NameTable[Any]:
        try:
            return NameTable(entries, self._catalog.checkpoint_names)
        except ValueError as error:
            raise BadInputError(
                f"{error}.", where=self.place, mend="Is it a list of module names and patterns?"
            ) from error

    def format_of(self, path: str, kind: RoleKind) -> StoredFormat | None:
        """Return the format in which one layer is stored, or None where it is not quantized.

        `path` is the module path in the built model, experts split and numbered.
        """
        if self._text_only and kind == "vision":
            return None
        named = self._named.find(path)
        covering = [rule for rule in self._rules if rule.statement.targets is None]
        for rule in [named] if named is not None else covering:
            for stored in rule.formats:
                if self._never[stored.name].find(path):
                    return None
                if self._excluded[stored.name].find(path):
                    continue
                if kind in stored.layers or (named is not None and kind not in _NEVER_BY_NAME):
                    return stored
        return None

    def name_of(self, path: str, kind: RoleKind) -> str | None:
        """Return the name of the format in which one layer is stored, or None."""
        stored = self.format_of(path, kind)
        return None if stored is None else stored.name

    def record(self, used: Iterable[str | None]) -> Quantized:
        """Return what the inventory keeps: the method, and the tensors of the formats that some layer has."""
        formats = [self._formats[name] for name in sorted({name for name in used if name})]
        return Quantized(
            method=self.method,
            place=self.place,
            formats=tuple(
                StoredLayout(name=stored.name, tensors=self._catalog.storage_of(stored)) for stored in formats
            ),
            unknown=self.unknown,
            kv_cache=self.kv_cache,
        )


def _label(facts: Mapping[str, Any]) -> str:
    names = [facts.get(key) for key in ("quant_method", "quant_algo", "format")]
    return " ".join(dict.fromkeys(str(name) for name in names if name)) or "unnamed method"


def _described(facts: Facts) -> str:
    """Return a statement that fits no known format, in the words that would tell it apart."""
    details = ("bits", "weights.num_bits", "weight.dtype", "weights.strategy", "group_size", "weights.group_size")
    found = [f"{key.rsplit('.', 1)[-1]} {facts[key]}" for key in details if facts.get(key) is not None]
    return ", ".join([_label(facts), *found])


def _kv_cache(block: Mapping[str, Any]) -> str | None:
    """Return the type of the KV cache that the settings ask for, or None."""
    stated = block.get("kv_cache_quant_algo") or block.get("kv_cache_scheme") or block.get("kv_cache_quant_config")
    if not isinstance(stated, Mapping):
        return str(stated).lower() if stated else None
    facts = flatten(stated)
    named = next((str(value) for key, value in facts.items() if key.rsplit(".", 1)[-1] == "dtype"), None)
    if named is not None or facts.get("num_bits") is None:
        return named
    return f"{'fp' if facts.get('type') == 'float' else 'int'}{facts['num_bits']}"


def _rules(found: Iterable[Statement], catalog: Catalog) -> tuple[_Rule, ...]:
    known = [stored for family in catalog.stored_formats for stored in family.formats]
    rules = []
    for statement in found:
        ranked = [(stored.specificity(statement.facts or {}), stored) for stored in known]
        fitting = sorted((item for item in ranked if item[0]), key=lambda item: -item[0])
        rules.append(_Rule(statement, tuple(stored for _, stored in fitting)))
    return tuple(rules)


def _unknown(rules: tuple[_Rule, ...]) -> tuple[str, ...]:
    """Return the statements that fit no format."""
    return tuple(
        _described(rule.statement.facts) for rule in rules if rule.statement.facts is not None and not rule.formats
    )


def stored_quantization(source: ModelSource, catalog: Catalog) -> StoredQuantization | None:
    """Return how a checkpoint is quantized already, or None; four places may say it.

    They are `quantization_config` and `quantization` (MLX) of the configuration, the same of its `text_config`, and
    the file `hf_quant_config.json` beside it.

    Raises
    ------
    BadInputError
        If the file beside the configuration is no JSON, or a list holds what is no pattern.

    """
    found = find_block(source)
    if found is None:
        return None
    stated, place = found
    if not isinstance(stated, dict):
        return StoredQuantization(str(stated), place, None, (str(stated),), (), {}, catalog)
    block = with_method(stated)
    whole = {**text_config(source.config), **source.config}
    scalars = {f"config.{key}": value for key, value in whole.items() if not isinstance(value, list | dict)}
    rules = _rules(statements(block, scalars), catalog)
    return StoredQuantization(_label(block), place, _kv_cache(block), _unknown(rules), rules, block, catalog)
