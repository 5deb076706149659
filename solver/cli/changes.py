"""Changes typed at the confirmation: `kv=none`, `layer *down_proj=fp8`, `budget=44GB`, `choose 2`."""

from dataclasses import replace
from typing import Any

from solver.cli.options import parse_layer
from solver.cli.question import Question
from solver.errors import BadInputError

_FIELDS = {
    "budget": "budget",
    "hardware": "hardware",
    "backend": "backend",
    "context": "context",
    "kv": "kv",
    "algorithm": "algorithm",
    "scheme": "scheme",
    "goal": "goal",
    "calib-dataset": "calib_dataset",
    "evaluation-intent": "evaluation_intent",
}
_NUMBERS = {
    "concurrency": "concurrency",
    "max-num-seqs": "max_num_seqs",
    "max-num-batched-tokens": "max_num_batched_tokens",
    "tp": "tensor_parallel",
    "num-calib-data": "num_calib_data",
    "seq-len": "seq_len",
}
_VALUES = {
    "kv": ("none", "fp8"),
    "evaluation-intent": ("none", "smoke", "full"),
}
HELP = (
    "Changes: budget=44GB, goal=size, kv=none, algorithm=awq, context=32k, scheme=fp8, layer PATTERN=SCHEME, "
    "pin ROLE=SCHEME, exclude PATTERN, or the number of another plan."
)


def _with(question: Question, field: str, value: Any) -> Question:
    return replace(question, **{field: value})


def apply_change(question: Question, text: str) -> Question:
    """Return the question with one typed change.

    Raises
    ------
    BadInputError
        If the change is not understood.

    """
    verb, _, rest = text.strip().partition(" ")
    if verb == "layer" and rest:
        parse_layer(rest, flag="change")
        return replace(question, layers=(*question.layers, rest.strip()))
    if verb == "pin" and rest:
        parse_layer(rest, flag="change")
        return replace(question, pins=(*question.pins, rest.strip()))
    if verb == "exclude" and rest:
        return replace(question, exclude=(*question.exclude, rest.strip()))
    name, equals, value = text.partition("=")
    name, value = name.strip().replace("_", "-").removeprefix("--"), value.strip()
    if equals and value and name in _FIELDS:
        if value not in _VALUES.get(name, (value,)):
            raise BadInputError(f"{name} is one of {', '.join(_VALUES[name])}.", where="change")
        return _with(question, _FIELDS[name], value)
    if equals and name in _NUMBERS:
        if not value.isdecimal() or int(value) < 1:
            raise BadInputError(f"{name} is a positive number, not {value!r}.", where="change")
        return _with(question, _NUMBERS[name], int(value))
    raise BadInputError(f"{text!r} is not understood.", where="change", mend=HELP)
