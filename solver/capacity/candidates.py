"""What a replica of a model may be: plans that `solve` offers, by tensor parallelism and number of slots."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from solver import api
from solver.capacity.fleet import ModelLoad
from solver.capacity.layouts import label, parallelisms, prompt_share, traffic_of
from solver.capacity.measured import Measured, throughput
from solver.capacity.sizes import outline, slot_numbers
from solver.capacity.speed import Speed, estimated, measured
from solver.catalog import Catalog
from solver.errors import BadInputError, InfeasibleError, PlannerError
from solver.intake.analysis import ModelAnalysis
from solver.plan.document import Alternative, Answer, ServicePart
from solver.plan.footprints import FootprintReport
from solver.plan.names import GUIDE, UNBOUND
from solver.plan.request import PlanRequest

_SPREAD = 4
"""Beyond so many times the devices that would do, a replica is not spread."""

PLAN_SECONDS = 0.5
"""Deterministic time of each solve of one plan: there are dozens, and one that is not proven optimal will do."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Devices that plans are the same for: one hardware, and what may be used of its memory."""

    hardware: str
    memory_bytes: int | None
    """None is the stack's own share."""
    devices: int
    """Of the largest node."""


@dataclass(frozen=True)
class Candidate:
    """One plan of an answer for one replica, and how fast that is."""

    kind: int
    answer: Answer
    plan: Alternative
    speed: Speed

    @property
    def service(self) -> ServicePart:
        """What it is planned for."""
        assert self.answer.service is not None
        return self.answer.service

    @property
    def size_bytes(self) -> int:
        """Of each of its devices, everything in service."""
        assert self.plan.footprint is not None
        return self.plan.footprint.total_bytes

    @property
    def loss(self) -> float:
        """Predicted, in nats per token."""
        assert self.plan.risk is not None
        return self.plan.risk.delta_nll

    def keeps(self, floor: Fraction | None, most_loss: float | None) -> bool:
        """Return whether it keeps a floor on the tokens of each user in a second, and a limit on the loss."""
        slow = floor is not None and floor * self.speed.user_seconds > 1
        return not slow and (most_loss is None or self.loss <= most_loss)


@dataclass
class Offers:
    """Asks `solve` for plans, and each question once."""

    catalog: Catalog
    alternatives: int = 4
    seed: int = 0
    time_limit: float = PLAN_SECONDS
    measured: Sequence[Measured] = ()
    tell: Callable[[str], None] = lambda _: None
    notes: list[str] = field(default_factory=list)
    used: set[Measured] = field(default_factory=set)
    """What was measured of plans that were compared."""
    _analyses: dict[str, ModelAnalysis] = field(default_factory=dict)
    _answers: dict[str, Answer] = field(default_factory=dict)
    _bills: dict[str, FootprintReport] = field(default_factory=dict)

    def analysis(self, model: str) -> ModelAnalysis:
        """Return what a model is made of."""
        if model not in self._analyses:
            self.tell(f"analysing {model}")
            self._analyses[model] = api.analyze(model, catalog=self.catalog)
        return self._analyses[model]

    def request(self, load: ModelLoad, kind: Kind, tensor_parallel: int, slots: int) -> PlanRequest:
        """Return the question about one replica."""
        return PlanRequest(
            model=load.model,
            hardware=kind.hardware,
            budget_bytes=kind.memory_bytes,
            backend=load.backend,
            context=load.context,
            concurrency=slots,
            tensor_parallel=tensor_parallel,
            alternatives=self.alternatives,
            seed=self.seed,
            time_limit=self.time_limit,
        )

    def answer(self, request: PlanRequest) -> Answer:
        """Return what `solve` answers."""
        key = request.model_dump_json()
        if key not in self._answers:
            at = f"{request.concurrency} sequences on {request.tensor_parallel} x {request.hardware}"
            self.tell(f"planning {request.model}: {at}")
            self._answers[key] = api.solve(request, self.analysis(request.model), catalog=self.catalog)
        return self._answers[key]

    def bill(self, request: PlanRequest) -> FootprintReport:
        """Return what `solve footprint` says, with an fp8 cache where the stack has one: the least that is held."""
        key = request.model_dump_json()
        if key not in self._bills:
            analysis = self.analysis(request.model)
            try:
                small = request.model_copy(update={"kv_cache_scheme": "fp8"})
                self._bills[key] = api.footprints(small, analysis, catalog=self.catalog)
            except PlannerError:
                self._bills[key] = api.footprints(request, analysis, catalog=self.catalog)
        return self._bills[key]

    def _speed(self, load: ModelLoad, kind: Kind, answer: Answer, plan: Alternative) -> Speed | None:
        service = answer.service
        assert service is not None
        slots, tokens = service.concurrency, load.output_tokens
        names = (load.name, load.model)
        found = throughput(self.measured, names, kind.hardware, label(plan), service.tensor_parallel, slots)
        if found is not None:
            self.used.add(found)
            return measured(slots, tokens, found.tokens_per_second)
        step, prompt = plan.decode_seconds_per_token, plan.prefill_seconds
        if step is None or prompt is None:
            return None
        return estimated(slots, tokens, prompt * float(prompt_share(service, load.prompt_tokens)), step)

    def _of(self, load: ModelLoad, kinds: Sequence[Kind], number: int, tensor_parallel: int) -> Iterator[Candidate]:
        kind = kinds[number]
        bill = self.bill(self.request(load, kind, tensor_parallel, 1))
        found = outline(bill, load.output_tokens, prompt_share(bill.service, load.prompt_tokens), self.catalog)
        for slots in slot_numbers(found, traffic_of(load)):
            try:
                answer = self.answer(self.request(load, kind, tensor_parallel, slots))
            except InfeasibleError:
                # The bills are for an fp8 cache, which plans may not have.
                continue
            for plan in answer.alternatives:
                speed = None if plan.name in {GUIDE, UNBOUND} else self._speed(load, kind, answer, plan)
                if speed is not None:
                    yield Candidate(number, answer, plan, speed)

    def candidates(self, load: ModelLoad, kinds: Sequence[Kind]) -> list[Candidate]:
        """Return what a replica of a model may be, on up to `_SPREAD` times as many devices as would do.

        Raises
        ------
        PlannerError
            If the model cannot be planned for, however many devices it has.

        """
        found: list[Candidate] = []
        for number, kind in enumerate(kinds):
            fewest: int | None = None
            for tensor_parallel in parallelisms(kind.devices):
                if fewest is not None and tensor_parallel > _SPREAD * fewest:
                    break
                try:
                    offered = list(self._of(load, kinds, number, tensor_parallel))
                except BadInputError as error:
                    if tensor_parallel == 1 or not (error.where or "").startswith("--tp"):
                        raise
                    note = f"{load.name}: not on {tensor_parallel} devices, which do not divide its attention heads"
                    self.notes.extend([note] if note not in self.notes else [])
                    continue
                found += offered
                if fewest is None and any(item.keeps(traffic_of(load).floor, load.most_loss) for item in offered):
                    fewest = tensor_parallel
        return found
