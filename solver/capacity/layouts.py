"""Small facts about replicas: their devices, their traffic in exact numbers, what their plans are called."""

from fractions import Fraction

from solver.capacity.fleet import ModelLoad
from solver.capacity.speed import Traffic
from solver.plan.document import Alternative, ServicePart
from solver.units import ceil_div


def label(plan: Alternative) -> str:
    """Return the schemes of a plan, the commonest first: `ptpc_fp8+uint4_wo_128`."""
    shares = [(share, name) for name, share in plan.scheme_shares.items() if name != "native" and share > 0]
    return "+".join(name for _, name in sorted(shares, key=lambda item: (-item[0], item[1]))) or "native"


def prompt_share(service: ServicePart, prompt_tokens: int) -> Fraction:
    """Return the part that a prompt is of the whole context, in batches: time is billed for whole batches."""
    chunk = min(service.context, service.max_num_batched_tokens)
    return Fraction(ceil_div(prompt_tokens, chunk), ceil_div(service.context, chunk))


def parallelisms(devices: int) -> list[int]:
    """Return the devices of a replica that are tried on a node: its divisors, and powers of two."""
    return [number for number in range(1, devices + 1) if devices % number == 0 or number & (number - 1) == 0]


def traffic_of(load: ModelLoad) -> Traffic:
    """Return the traffic of a model in exact numbers."""
    rate, floor = load.requests_per_second, load.min_tokens_per_second
    return Traffic(
        None if rate is None else Fraction(str(rate)), load.concurrency, None if floor is None else Fraction(str(floor))
    )
