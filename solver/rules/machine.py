"""What a stack refuses of a service as a whole, before any layer is looked at."""

from collections.abc import Callable

from solver.intake.inventory import Inventory
from solver.rules.refusal import Refusal
from solver.rules.service import Service


def _heads_divide(service: Service, inventory: Inventory) -> str | None:
    heads, backend = inventory.attention_heads, service.backend
    if heads is None or not backend.divides_heads or heads % service.tensor_parallel == 0:
        return None
    return f"{service.tensor_parallel} devices do not divide the {heads} attention heads, and {backend.title} stops"


MACHINE_RULES: dict[str, Callable[[Service, Inventory], str | None]] = {"heads-divide": _heads_divide}
"""The checks of all rules on a service, by the names of `profiles/rules/`."""


def machine_refusals(service: Service, inventory: Inventory) -> list[Refusal]:
    """Return every rule that forbids this service."""
    return [
        Refusal(rule, sentence)
        for rule, check in MACHINE_RULES.items()
        if (sentence := check(service, inventory)) is not None
    ]


def most_devices(heads: int, wanted: int) -> int:
    """Return the most devices up to `wanted` that divide the attention heads."""
    return next(devices for devices in range(wanted, 0, -1) if heads % devices == 0)
