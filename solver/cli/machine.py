"""The machine that `./env_context.json` describes: it settles the hardware where none is named, and is compared."""

from dataclasses import dataclass
from pathlib import Path

from solver.api import ENVIRONMENT_NAME, Machine, hardware_of, machine_notes, read_environment
from solver.catalog import Catalog
from solver.errors import PlannerError
from solver.report.console import messages


@dataclass(frozen=True)
class Settled:
    """Hardware by name, and the machine that it is compared with, if one is described."""

    hardware: str
    asked: bool
    machine: Machine | None = None
    unread: str | None = None
    """Why a description that is there could not be read."""

    def notes(self, hardware: str, devices: int, catalog: Catalog) -> tuple[str, ...]:
        """Return what the description says against a plan for so many devices of this hardware.

        Raises
        ------
        UnknownNameError
            If the hardware is not in the catalogue.

        """
        if self.machine is None:
            return () if self.unread is None else (self.unread,)
        planned = catalog.hardware.get(hardware)
        asked = self.asked or planned.name != self.hardware
        return machine_notes(self.machine, catalog, planned, devices=devices, asked=asked)


def settle_hardware(hardware: str | None, catalog: Catalog) -> Settled:
    """Return the hardware that the user names, whose word wins, or else that of `./env_context.json`.

    Raises
    ------
    PlannerError
        If neither tells an accelerator of the catalogue.

    """
    path = Path(ENVIRONMENT_NAME)
    if hardware is None:
        machine = read_environment(path)
        return Settled(hardware_of(machine, catalog, where=str(path)).name, asked=False, machine=machine)
    name = catalog.hardware.get(hardware).name
    if not path.is_file():
        return Settled(name, asked=True)
    try:
        return Settled(name, asked=True, machine=read_environment(path))
    except PlannerError as error:
        unread = (
            f"planned for {name} (--hardware), not compared with {ENVIRONMENT_NAME}: {error.what.removesuffix('.')}"
        )
        return Settled(name, asked=True, unread=unread)


def tell(notes: tuple[str, ...]) -> None:
    """Print notes on stderr."""
    for note in notes:
        messages().print(f"note: {note}", soft_wrap=True, markup=False)
