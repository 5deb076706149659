"""What to sweep over: models, budgets, hardware and contexts, as a file or as flags name them."""

from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from solver.catalog.section import read_yaml
from solver.errors import BadInputError
from solver.plan.request import PlanRequest
from solver.units import parse_size, parse_tokens

T = TypeVar("T", bound=BaseModel)

Positive = Annotated[int, Field(gt=0)]

_AXES = frozenset({"model", "hardware", "budget_bytes", "context", "notes"})
"""Fields of a request that the sweep itself fills."""


def _size(value: object) -> object:
    return parse_size(value) if isinstance(value, str) else value


def _tokens(value: object) -> object:
    return parse_tokens(value) if isinstance(value, str) else value


class Sweep(BaseModel):
    """Every model on every hardware, with every context, under every budget."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    models: tuple[str, ...] = Field(
        min_length=1, description="as `solve` takes them, and globs over files, folders and bundled models"
    )
    hardware: tuple[str, ...] = Field(min_length=1, description="names of `profiles/hardware`")
    budgets: tuple[Annotated[Positive | None, BeforeValidator(_size)], ...] = Field(
        default=(None,), min_length=1, description="bytes of one device, or `40GB`; null: what the stack takes"
    )
    contexts: tuple[Annotated[Positive | None, BeforeValidator(_tokens)], ...] = Field(
        default=(None,), min_length=1, description="tokens of a sequence, or `8k`; null: 8192 or the model's limit"
    )
    request: dict[str, Any] = Field(default_factory=dict, description="other fields of every request")

    @field_validator("request")
    @classmethod
    def _is_of_requests(cls, value: dict[str, Any]) -> dict[str, Any]:
        known = set(PlanRequest.model_fields) - _AXES
        unknown = sorted(set(value) - known)
        if unknown:
            raise BadInputError(
                f"no request has {', '.join(unknown)}.", where="request", mend=f"There are {', '.join(sorted(known))}."
            )
        asked = checked(PlanRequest, {"model": "-", **value}, where="request")
        return {name: item for name, item in asked.model_dump(mode="json").items() if name in value}


def checked(model: type[T], content: Any, *, where: str) -> T:
    """Return content as a document.

    Raises
    ------
    BadInputError
        If it has another form; the offending fields are named.

    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        found = error.errors(include_url=False)[:5]
        fields = "; ".join(f"{'.'.join(map(str, item['loc'])) or 'document'}: {_said(item)}" for item in found)
        unknown = any(item["type"] == "extra_forbidden" and len(item["loc"]) == 1 for item in found)
        mend = f"There are {', '.join(model.model_fields)}." if unknown else None
        raise BadInputError(f"does not have the expected form: {fields}.", where=where, mend=mend) from error


def _said(item: ErrorDetails) -> str:
    kinds = {"extra_forbidden": "there is no such key", "tuple_type": f"{item['input']!r} is no list"}
    return kinds.get(item["type"], item["msg"].removeprefix("Value error, "))


def read_sweep(path: Path | None, **flags: Any) -> Sweep:
    """Return the sweep in a YAML file, with what flags say on top; without a file, of the flags alone.

    Paths in the file are relative to its folder.

    Raises
    ------
    BadInputError
        If the file cannot be read, or something is named nowhere that has to be.

    """
    content: dict[str, Any] = {}
    if path is not None:
        found = read_yaml(path)
        if not isinstance(found, dict):
            raise BadInputError("holds no fields.", where=str(path), mend="It needs `models` and `hardware`.")
        content = found
        models = content.get("models")
        if isinstance(models, list):
            content["models"] = [_placed(item, path.parent) for item in models]
    request = content.get("request")
    asked = (request if isinstance(request, dict) else {}) | flags.pop("request", {})
    content |= {name: value for name, value in flags.items() if value}
    if request is None or isinstance(request, dict):
        content["request"] = asked
    for name, flag in (("models", "--model"), ("hardware", "--hardware")):
        if not content.get(name):
            raise BadInputError(
                f"no {name} {'is' if name == 'hardware' else 'are'} named.",
                where=flag if path is None else str(path),
                mend=f"Name them with `{flag}`, or as `{name}` in a YAML file.",
            )
    return checked(Sweep, content, where=str(path or "sweep"))


def _placed(model: Any, folder: Path) -> Any:
    """Return a path or a glob of paths as seen from here; names of models stay as they are."""
    if not isinstance(model, str) or Path(model).is_absolute():
        return model
    try:
        there = (folder / model).exists() or next(folder.glob(model), None) is not None
    except (ValueError, OSError, NotImplementedError):
        return model
    return str(folder / model) if there else model
