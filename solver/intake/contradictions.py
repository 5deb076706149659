"""Where an `env_context.json` contradicts itself, or what a plan is asked for."""

from collections.abc import Iterator

from solver.catalog import Catalog
from solver.catalog.hardware import Hardware
from solver.catalog.section import canonical
from solver.intake.environment import ENVIRONMENT_NAME, Machine, inferred_hardware, named_hardware
from solver.units import format_size


def _of_another_architecture(machine: Machine, hardware: Hardware) -> bool:
    """Return whether the architecture is neither the profile's by number nor, wholly or in part, by name."""
    if machine.gpu_arch is None or hardware.isa is None or machine.isa == hardware.isa:
        return False
    said, known = canonical(machine.gpu_arch), canonical(hardware.architecture)
    return not (said.startswith(known) or known.startswith(said))


def _against(machine: Machine, hardware: Hardware) -> Iterator[str]:
    """Yield the facts of a machine that are not those of a profile."""
    if machine.accelerator not in ("unknown", hardware.accelerator):
        yield f"accelerator {machine.accelerator}, where {hardware.title} is {hardware.accelerator}"
    if _of_another_architecture(machine, hardware):
        yield f"gpu_arch {machine.gpu_arch}, where {hardware.title} is {hardware.isa}"
    if hardware.memory is not None and not machine.may_have(hardware.memory.value):
        size = int(hardware.memory.value)
        both = f"{format_size(size)} = {format_size(size, binary=True)}"
        yield f"memory_gb {machine.memory_gb:g}, where one {hardware.title} has {both}"


def _on_hardware(machine: Machine, catalog: Catalog, hardware: Hardware, *, asked: bool) -> Iterator[str]:
    named = named_hardware(machine, catalog)
    if named is not None:
        yield from (
            f"{ENVIRONMENT_NAME} contradicts itself: it names {named.title}, and says {fact}"
            for fact in _against(machine, named)
        )
        if named != hardware:
            yield f"planned for {hardware.title} (--hardware), where {ENVIRONMENT_NAME} names {named.title}"
        return
    if not asked and inferred_hardware(machine, catalog) == hardware:
        unknown = "names no gpu_model" if machine.gpu_model is None else f"names {machine.gpu_model}, not known here,"
        yield (
            f"planned for {hardware.title} (--hardware): {ENVIRONMENT_NAME} {unknown} and its gpu_arch "
            f"{machine.gpu_arch} and memory_gb {machine.memory_gb:g} are those of no other accelerator known here"
        )
    yield from (
        f"planned for {hardware.title} (--hardware), where {ENVIRONMENT_NAME} says {fact}"
        for fact in _against(machine, hardware)
    )


def machine_notes(
    machine: Machine, catalog: Catalog, hardware: Hardware, *, devices: int, asked: bool
) -> tuple[str, ...]:
    """Return what is to be told of a machine under a plan: its contradictions, and that its profile was inferred.

    Parameters
    ----------
    hardware
        What is planned for.
    devices
        How many of it the plan takes.
    asked
        Whether the user named the hardware, which wins over the machine's.

    """
    notes = list(_on_hardware(machine, catalog, hardware, asked=asked))
    count = machine.gpu_count
    # A processor is no GPU: its machine counts none.
    if count is not None and devices > count and hardware.accelerator != "cpu":
        notes.append(f"planned for {devices} devices (--tp), where {ENVIRONMENT_NAME} counts {count}")
    return tuple(notes)
