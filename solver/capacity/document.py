"""The document that answers a fleet."""

from typing import Literal

from pydantic import Field

from solver.capacity.fleet import Fleet
from solver.plan.document import FootprintPart, Part, RiskPart


class ChosenPlan(Part):
    """The plan that each replica of a model has: an alternative of `solve`."""

    choice: int = Field(description="number of the alternative in the answer of `command`")
    name: str
    schemes: str = Field(description="of its weights, the commonest first, joined by +")
    global_scheme: str
    kv_cache_scheme: str | None
    algorithm: str | None
    footprint: FootprintPart = Field(description="bytes on each device of a replica")
    risk: RiskPart
    command: str = Field(description="plans it, chooses it and confirms it")


class ServedModel(Part):
    """One model: what each replica is, and what all of them carry."""

    name: str
    model: str
    hardware: str
    backend: str
    tensor_parallel: int
    concurrency: int = Field(description="sequences that one replica holds at once")
    context: int = Field(description="tokens of a sequence, prompt and answer")
    replicas: int
    replicas_needed: int = Field(description="of these, to carry the traffic")
    devices: int = Field(description="that hold a part of it")
    plan: ChosenPlan
    memory_share: float = Field(description="of a device's memory that a replica takes, rounded up to 4 decimals")
    speed_source: Literal["roofline estimate", "measured"]
    prefill_seconds: float | None = Field(description="of one prompt; null where measured")
    step_seconds: float | None = Field(description="of one token of all sequences of a replica; null where measured")
    tokens_per_second: float = Field(
        description="of output of each user, all slots in use, while others on the device take the time they need"
    )
    requests_per_second: float = Field(description="that all replicas sustain, alone on their devices")
    sequences: float = Field(description="in service at once: by Little's law, or as asked for")
    busy: float = Field(
        description="share of its devices' time that a replica needs, 0 to 1, with the needed ones alive"
    )


class Shard(Part):
    """What one replica has on one device."""

    model: str
    replica: int = Field(description="from 1")
    size_bytes: int


class Device(Part):
    """One device in use."""

    number: int = Field(description="in its node, from 0")
    shards: tuple[Shard, ...]
    used_bytes: int
    usable_bytes: int
    busy: float = Field(description="share of its time that is needed, 0 to 1")


class PlacedNode(Part):
    """One node in use."""

    name: str
    hardware: str
    number: int = Field(description="among those of its name, from 1")
    devices: int
    in_use: tuple[Device, ...]


class StagePart(Part):
    """One objective, minimized with those before it held."""

    objective: str
    value: int
    bound: int = Field(description="nothing less is possible")
    optimal: bool


class Headroom(Part):
    """How much more traffic the same nodes carry, each multiple planned anew."""

    model: str | None = Field(description="null: all models together")
    percent: int = Field(description="of today's traffic that still fits, in whole percent")
    capped: bool = Field(description="whether more than that was not looked for")
    proven: bool = Field(description="whether one percent more is proven not to fit; false too where capped")


class CapacityProvenance(Part):
    """What produced an answer: the same of all these gives the same bytes."""

    tool: str = "quant-plan-solver"
    tool_version: str
    profiles_sha256: str
    ortools_version: str
    seed: int
    workers: int
    time_limit: float


class CapacityPlan(Part):
    """What `solve capacity --json` prints when the fleet fits."""

    schema_version: Literal[1] = 1
    fleet: Fleet
    survive: int = Field(description="nodes that may be lost, whichever they are")
    minimized: Literal["devices", "price"]
    models: tuple[ServedModel, ...]
    nodes: tuple[PlacedNode, ...] = Field(description="those in use")
    devices_used: int
    devices_total: int
    nodes_used: int
    nodes_total: int
    price_per_hour: float | None = Field(description="of the nodes in use; null where some have no price")
    survives: int = Field(description="nodes that may be lost, whichever they are, with this placement")
    status: Literal["optimal", "feasible"]
    stages: tuple[StagePart, ...]
    candidates: int = Field(description="plans of replicas that were compared")
    headroom: tuple[Headroom, ...]
    assumptions: tuple[str, ...]
    provenance: CapacityProvenance
