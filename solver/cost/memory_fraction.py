"""The share of a device that a stack takes: by default, and such that a budget is kept."""

import math
from decimal import Decimal
from fractions import Fraction

from solver.catalog.roles import Roles
from solver.cost.footprint import footprint
from solver.intake.inventory import Inventory
from solver.rules.service import Service

_FEWEST_DIGITS, _MOST_DIGITS = 4, 18


def default_fraction(service: Service) -> Fraction:
    """Return the share of a device's memory that the stack takes unless it is told.

    A constant, or for stacks with a `memory_reserve` what that leaves of the device, rounded as the stack rounds.
    """
    reserve, memory = service.backend.memory_reserve, service.hardware.memory
    if reserve is None or memory is None:
        return Fraction(str(service.backend.memory_fraction.value))
    reserved = (
        reserve.constant.value
        + reserve.per_batched_token.value * max(service.batched_tokens, reserve.least_batched_tokens.value)
        + reserve.per_sequence.value * service.batched_sequences
        + reserve.per_device.value * service.tensor_parallel
    )
    if memory.value > reserve.least_above.value:
        reserved = max(reserved, reserve.least.value)
    return max(Fraction(0), round(1 - Fraction(reserved) / Fraction(memory.value), reserve.digits))


def default_budget(service: Service, inventory: Inventory, roles: Roles) -> int | None:
    """Return the bytes of one device that a bill may take under the default share; None if its memory is not known.

    What the share does not bound comes on top, as far as the device has it.
    """
    if service.hardware.memory is None:
        return None
    memory = int(service.hardware.memory.value)
    bill = footprint(0, service, inventory, roles, kv_fp8=False)
    outside = sum(bill.part(name) for name in service.backend.outside_fraction)
    return min(memory, math.ceil(memory * default_fraction(service)) + outside)


def fraction_for(budget_bytes: int, needed_bytes: int, memory_bytes: int) -> Decimal | None:
    """Return the share of a device that keeps a budget and still holds what is needed, or None if there is none.

    The budget over the memory, cut to four decimals: they are 20 MB of a large device, so that a tight budget
    takes more of them. vLLM takes ceil(share * memory) bytes (v1/worker/utils.py, request_memory).
    """
    if not needed_bytes <= budget_bytes <= memory_bytes:
        return None
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        scale = 10**digits
        share = Fraction(budget_bytes * scale // memory_bytes, scale)
        if math.ceil(share * memory_bytes) >= needed_bytes:
            return Decimal(share.numerator) / Decimal(share.denominator)
    return None
