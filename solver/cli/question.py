"""The flags of `solve` as typed, and the request that they make."""

from dataclasses import asdict, dataclass
from typing import Any

from solver.api import Calibration, PlanRequest
from solver.cli.options import parse_algorithms, parse_floor, parse_layer
from solver.errors import BadInputError
from solver.units import parse_size, parse_tokens


@dataclass(frozen=True)
class Question:
    """What was typed, before it is understood; None was not typed."""

    model: str | None
    budget: str | None
    budget_scope: str
    hardware: str | None
    backend: str | None
    context: str | None
    concurrency: int
    max_num_seqs: int | None
    max_num_batched_tokens: int | None
    tensor_parallel: int
    expert_parallel: bool
    mtp: str
    kv: str | None
    algorithm: str | None
    exclude: tuple[str, ...]
    layers: tuple[str, ...]
    pins: tuple[str, ...]
    floors: tuple[str, ...]
    scheme: str | None
    force: bool
    allow_emulated: bool
    granularity: str
    max_overrides: int | None
    max_schemes: int | None
    min_decode_tps: float | None
    alternatives: int | None
    faster: int
    diverse: int
    goal: str | None
    calib_dataset: str
    num_calib_data: int
    seq_len: int
    evaluation_intent: str
    seed: int
    time_limit: float
    revision: str | None
    trust_remote_code: bool

    def document(self) -> dict[str, Any]:
        """Return the flags as JSON, for an error about them."""
        return asdict(self)


def to_request(question: Question, model: str, notes: tuple[str, ...] = ()) -> PlanRequest:
    """Return the request of a question whose hardware is settled, with notes for its assumptions.

    Raises
    ------
    BadInputError
        If a size, a pattern or a data set cannot be read.

    """
    if not 0 < question.time_limit < float("inf"):
        raise BadInputError(
            f"a limit of {question.time_limit:g} s is none.", where="--time-limit", mend="Allow some seconds."
        )
    if question.min_decode_tps is not None and not 0 < question.min_decode_tps < float("inf"):
        raise BadInputError(
            f"{question.min_decode_tps:g} tokens/s is no speed to ask for.",
            where="--min-decode-tps",
            mend="Ask for more than none, or leave it out.",
        )
    return PlanRequest.model_validate(
        {
            "model": model,
            "hardware": question.hardware,
            "budget_bytes": None if question.budget is None else parse_size(question.budget),
            "budget_scope": question.budget_scope,
            "backend": question.backend,
            "context": None if question.context is None else parse_tokens(question.context),
            "concurrency": question.concurrency,
            "max_num_seqs": question.max_num_seqs,
            "max_num_batched_tokens": question.max_num_batched_tokens,
            "tensor_parallel": question.tensor_parallel,
            "expert_parallel": question.expert_parallel,
            "mtp": question.mtp,
            "kv_cache_scheme": question.kv,
            "algorithms": parse_algorithms(question.algorithm),
            "exclude": question.exclude,
            "layers": dict(parse_layer(text) for text in question.layers),
            "pins": dict(parse_layer(text, flag="--pin") for text in question.pins),
            "floors": dict(parse_floor(text) for text in question.floors),
            "scheme": question.scheme,
            "force": question.force,
            "allow_emulated": question.allow_emulated,
            "granularity": question.granularity,
            "max_overrides": question.max_overrides,
            "max_schemes": question.max_schemes,
            "min_decode_tps": question.min_decode_tps,
            "alternatives": question.alternatives,
            "faster": question.faster,
            "diverse": question.diverse,
            "goal": question.goal,
            "calibration": Calibration(
                dataset=question.calib_dataset,
                num_calib_data=question.num_calib_data,
                seq_len=question.seq_len,
            ),
            "evaluation_intent": question.evaluation_intent,
            "trust_remote_code": question.trust_remote_code,
            "notes": notes,
            "seed": question.seed,
            "time_limit": question.time_limit,
        }
    )
