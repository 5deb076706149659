"""Patterns as they are written, and the check that every reader takes them for the assignment."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from solver.catalog import NATIVE
from solver.errors import VerificationError
from solver.plan.assignment import Assignment
from solver.rules.kv_entries import kv_schemes
from solver.rules.patterns import first_match, matches
from solver.rules.readers import StackReader
from solver.rules.units import Member


@dataclass(frozen=True, slots=True)
class QuarkPatterns:
    """What selects the scheme of each layer, in the order in which it is read.

    Parameters
    ----------
    fewest
        Whether no fewer of the patterns that were looked at can write the assignment.

    """

    global_scheme: str
    exclude_layers: tuple[str, ...]
    layer_quant_config: dict[str, str]
    fewest: bool = field(default=False, compare=False)

    def excludes(self, member: Member) -> bool:
        """Return whether Quark leaves these layers native."""
        return first_match(self.exclude_layers, member.family, member.block) is not None

    def beside(self, given: Sequence[str]) -> int:
        """Return the number of patterns beside given excludes."""
        return len(self.layer_quant_config) + len(set(self.exclude_layers) - set(given))

    def scheme_of(self, member: Member) -> str:
        """Return the scheme that Quark will give these layers, an fp8 KV cache aside."""
        if self.excludes(member):
            return NATIVE
        pattern = first_match(self.layer_quant_config, member.family, member.block)
        return self.global_scheme if pattern is None else self.layer_quant_config[pattern]


def verify_patterns(
    patterns: QuarkPatterns,
    assignment: Assignment,
    kv_layers: Sequence[str] = (),
    readers: Sequence[StackReader] = (),
) -> None:
    """Check that the patterns select exactly the assignment.

    Parameters
    ----------
    kv_layers
        The template's KV patterns if the cache is quantized: Quark gives all layers of each one configuration.
    readers
        Stacks that must read the same.

    Raises
    ------
    VerificationError
        If a layer would get another scheme; the first one is named.

    """
    kv = kv_schemes(kv_layers, patterns.layer_quant_config, patterns.global_scheme)
    # Quark writes the KV patterns beside the entries, and the export lists all of them by the alphabet.
    exported = dict(sorted({**kv, **patterns.layer_quant_config}.items()))
    for member, scheme in assignment.schemes.items():
        if not member.family.quantizable:
            continue
        found = {"Quark": patterns.scheme_of(member)}
        if found["Quark"] != NATIVE:
            cached = next((p for p in kv if matches(p, member.family, member.block)), None)
            # What the patterns say holds too, so that a plan need not be read with the cache in mind.
            found |= {
                reader.stack: reader.scheme_of(exported, patterns.global_scheme, member.family, member.block)
                for reader in readers
            }
            if cached is not None:
                found["Quark, of its fp8 cache,"] = kv[cached]
        for reader_name, read in found.items():
            if read != scheme:
                raise VerificationError(
                    f"{member.family.path(member.block)} is planned as {scheme}, "
                    f"but the patterns give it {read} in {reader_name}"
                )
