"""`env_context.json`: the machine as Quark's preflight found it, and the hardware profile that it means."""

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from solver.catalog import Catalog
from solver.catalog.hardware import Hardware
from solver.errors import BadInputError, MissingError
from solver.intake.json_file import read_json

ENVIRONMENT_NAME = "env_context.json"
_MEND = "Name the accelerator with --hardware; `solve profiles list hardware` lists them."
_COMPUTE_CAPABILITY = re.compile(r"(?:sm|compute)?_?(\d+)\.?(\d)[af]?")
_GIB = 2**30
_MEMORY_SLACK = 0.1
"""What drivers keep back, and what vendors round."""


class Machine(BaseModel):
    """The accelerators of one machine; None and `unknown` are what the preflight could not tell."""

    model_config = ConfigDict(frozen=True, extra="allow")

    accelerator: Literal["amd-rocm", "nvidia-cuda", "cpu", "unknown"]
    gpu_model: str | None = None
    gpu_arch: str | None = None
    gpu_count: int | None = Field(default=None, ge=0)
    memory_gb: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="of one device, GB or GiB")
    cpu_model: str | None = None

    @field_validator("gpu_model", "gpu_arch", "gpu_count", "memory_gb", "cpu_model", mode="before")
    @classmethod
    def _untold(cls, value: Any) -> Any:
        return None if isinstance(value, str) and value.strip().lower() in {"", "unknown"} else value

    @property
    def isa(self) -> str | None:
        """The architecture as profiles spell it: `gfx942:sramecc+` is `gfx942`, `9.0` and `sm90a` are `sm_90`."""
        if self.gpu_arch is None:
            return None
        name = self.gpu_arch.strip().lower().partition(":")[0]
        capability = _COMPUTE_CAPABILITY.fullmatch(name)
        return f"sm_{capability[1]}{capability[2]}" if capability else name

    def may_have(self, memory_bytes: float) -> bool:
        """Return whether the stated memory may be that of a device, read as GB or as GiB."""
        if self.memory_gb is None:
            return True
        return self.memory_gb * 1e9 * (1 - _MEMORY_SLACK) <= memory_bytes <= self.memory_gb * _GIB * (1 + _MEMORY_SLACK)


class _EnvironmentContext(BaseModel):
    environment: dict[str, Any]
    hardware: Machine


def read_environment(path: Path) -> Machine:
    """Return what an `env_context.json` says of the machine's accelerators.

    Raises
    ------
    MissingError
        If there is no such file, or it cannot be read.
    BadInputError
        If it is not of Quark's form.

    """
    if not path.is_file():
        raise MissingError(f"no hardware is named and there is no {ENVIRONMENT_NAME}.", where=str(path), mend=_MEND)
    try:
        return _EnvironmentContext.model_validate(read_json(path)).hardware
    except OSError as error:
        raise MissingError(f"cannot be read: {error.strerror}.", where=str(path), mend=_MEND) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = f"{'.'.join(str(part) for part in first['loc']) or 'document'}: {first['msg']}"
    except RecursionError:
        reason = "nested too deeply"
    except ValueError as error:
        reason = str(error).splitlines()[0]
    raise BadInputError(f"is no environment of Quark's preflight: {reason}.", where=str(path), mend=_MEND)


def named_hardware(machine: Machine, catalog: Catalog) -> Hardware | None:
    """Return the profile that the machine's GPU, or its processor where it computes there, is known by."""
    name = machine.gpu_model or (machine.cpu_model if machine.accelerator == "cpu" else None)
    return catalog.hardware.find(name) if name else None


def same_architecture(machine: Machine, catalog: Catalog) -> list[Hardware]:
    """Return the profiles of the machine's architecture that have about its memory, or of which none is known."""
    if machine.isa is None:
        return []
    alike = [item for item in catalog.hardware if item.isa == machine.isa]
    return [item for item in alike if item.memory is None or machine.may_have(item.memory.value)]


def inferred_hardware(machine: Machine, catalog: Catalog) -> Hardware | None:
    """Return the only profile that has the machine's architecture and memory, or None.

    A profile whose memory is not known cannot be told from others, so it is never the one.
    """
    alike = same_architecture(machine, catalog)
    known = machine.memory_gb is not None and len(alike) == 1 and alike[0].memory is not None
    return alike[0] if known else None


def hardware_of(machine: Machine, catalog: Catalog, *, where: str) -> Hardware:
    """Return the profile that a machine's GPU is named by, or else told by from its architecture and memory.

    Parameters
    ----------
    where
        The file, for the message.

    Raises
    ------
    BadInputError
        If neither tells one profile; it says what is known, and what may be meant.

    """
    found = named_hardware(machine, catalog) or inferred_hardware(machine, catalog)
    if found is None:
        raise BadInputError(_what_is_told(machine, catalog), where=where, mend=_MEND)
    return found


def _what_is_told(machine: Machine, catalog: Catalog) -> str:
    if machine.accelerator == "cpu" and machine.gpu_model is None:
        names = ", ".join(item.name for item in catalog.hardware if item.accelerator == "cpu")
        told = f"is {machine.cpu_model!r}, which is not in the catalogue" if machine.cpu_model else "is not told"
        return f"the accelerator is the CPU, and its model {told}: it may be one of {names}."
    if machine.gpu_model is None and machine.gpu_arch is None:
        return f"names neither a gpu_model nor a gpu_arch (accelerator {machine.accelerator!r})."
    model = (
        f"{machine.gpu_model!r} is no accelerator of the catalogue" if machine.gpu_model else "gpu_model is not told"
    )
    if machine.gpu_arch is None:
        return f"{model}, and gpu_arch is not told."
    names = ", ".join(item.name for item in same_architecture(machine, catalog)) or "none"
    memory = "" if machine.memory_gb is None else f" with memory_gb {machine.memory_gb:g}"
    return f"{model}; of architecture {machine.gpu_arch}{memory} the catalogue has {names}."
