"""`env_context.json`: the machine as Quark's preflight found it."""

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from solver.catalog import Catalog
from solver.catalog.hardware import Hardware
from solver.errors import BadInputError, MissingError

ENVIRONMENT_NAME = "env_context.json"
_MEND = "Name the accelerator with --hardware; `solve profiles list hardware` lists them."


class _Accelerator(BaseModel):
    model_config = ConfigDict(extra="allow")

    accelerator: Literal["amd-rocm", "nvidia-cuda", "cpu", "unknown"]
    gpu_model: str | None = None
    gpu_arch: str | None = None
    gpu_count: int | None = None
    memory_gb: float | None = None


class _EnvironmentContext(BaseModel):
    environment: dict[str, Any]
    hardware: _Accelerator


def hardware_from_environment(path: Path, catalog: Catalog) -> Hardware:
    """Return the hardware profile that an `env_context.json` names by its GPU model.

    Raises
    ------
    MissingError
        If there is no such file.
    BadInputError
        If the file is not of Quark's form, or its GPU is not in the catalogue.

    """
    if not path.is_file():
        raise MissingError(f"no hardware is named and there is no {ENVIRONMENT_NAME}.", where=str(path), mend=_MEND)
    try:
        found = _EnvironmentContext.model_validate(json.loads(path.read_text(encoding="utf-8"))).hardware
    except (json.JSONDecodeError, UnicodeDecodeError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise BadInputError(
            f"is no environment of Quark's preflight: {reason}.", where=str(path), mend=_MEND
        ) from error
    named = catalog.hardware.find(found.gpu_model) if found.gpu_model else None
    if named is not None:
        return named
    same_isa = [item.name for item in catalog.hardware if found.gpu_arch and item.isa == found.gpu_arch]
    hint = f" Its architecture {found.gpu_arch} is that of {', '.join(same_isa)}." if same_isa else ""
    raise BadInputError(
        f"names no accelerator of the catalogue ({found.gpu_model!r}).{hint}", where=str(path), mend=_MEND
    )
