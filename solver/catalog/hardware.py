"""Accelerators: memory as drivers report it, bandwidth, sustained rates, and the class of their kernels."""

from typing import Literal

from pydantic import Field

from solver.catalog.base import PositiveQuantity, Profile, Quantity


class Hardware(Profile):
    """One device, as the runtime sees it (one die of a two-die card, one GPU of a tray)."""

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    vendor: Literal["AMD", "NVIDIA", "Intel"]
    accelerator: Literal["amd-rocm", "nvidia-cuda", "intel-gaudi", "cpu"]
    architecture: str
    isa: str | None = None
    kernel_class: str | None = Field(description="row of the support tables of the backends")
    memory: PositiveQuantity | None = Field(description="total bytes as the driver reports them")
    memory_marketed: str | None = None
    bandwidth: PositiveQuantity | None = None
    peak_flops: dict[str, Quantity] = Field(default_factory=dict)
    sustained_flops: dict[str, Quantity] = Field(default_factory=dict)
    fp8_dialect: Literal["fnuz", "ocp", "none"] | None = None
    native_formats: tuple[str, ...] = ()
    devices_per_node: int | None = None
    default_backend: str
    status: str
    confidence: str
    note: str | None = None
