"""The environment and Quark's drift, in 80 columns."""

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from solver.quark.doctor import Drift, Package
from solver.quark.drift import DriftItem
from solver.quark.installed import PACKAGE

_STYLES = {"new": "green", "gone": "red", "changed": "yellow"}


def _grid(rows: Iterable[tuple[str | Text, ...]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return grid


def _package(package: Package) -> tuple[str | Text, ...]:
    if package.version is not None:
        return package.name, package.version, package.gives
    absent = Text("absent", style="yellow" if package.optional else "bold red")
    return package.name, absent, f"{package.gives}; {'optional' if package.optional else 'needed'}"


def _item(item: DriftItem) -> Iterator[tuple[str | Text, ...]]:
    yield f"{item.kind} {item.name}", Text(item.change, style=_STYLES[item.change]), item.field or ""
    if item.change == "changed":
        yield "", Text("profiles", style="dim"), item.profiles or ""
        yield "", Text("Quark", style="dim"), item.quark or ""


def _compared(drift: Drift) -> Text:
    if drift.quark_version is None:
        return Text(f"amd-quark is not compared with the profiles: {drift.not_compared}.", style="yellow")
    if not drift.items:
        return Text(f"amd-quark {drift.quark_version} says what the profiles say: no drift.", style="bold green")
    count = len(drift.items)
    return Text(
        f"amd-quark {drift.quark_version} has moved on from the profiles, which are those of "
        f"{drift.quark_of_profiles}: {count} difference{'s' * (count != 1)}.",
        style="bold red",
    )


def _defects(drift: Drift) -> Iterator[Text | Padding]:
    installed = next((item.version for item in drift.packages if item.name == PACKAGE), None)
    if installed is None:
        return
    yield Text(f"Known defects of {PACKAGE} {installed}, and what keeps plans from them:", style="bold")
    if not drift.defects:
        yield Text("none: those that the profiles know are of other versions.")
    for item in drift.defects:
        yield Text(item.name, style="yellow")
        yield Padding(Text(f"{item.sentence} {item.done[:1].upper()}{item.done[1:]}."), (0, 0, 0, 2))


def print_drift(drift: Drift, console: Console) -> None:
    """Print what is installed, what the profiles know, and what Quark says otherwise."""
    console.print(Text.assemble(("quant-plan-solver", "bold"), f" {drift.tool_version}"))
    console.print()
    console.print(_grid(map(_package, drift.packages)))
    console.print()
    console.print(_grid((f"{part.section}", f"{part.entries}", part.of) for part in drift.profiles))
    console.print(Text(f"profiles {drift.profiles_sha256}", style="dim"))
    console.print()
    for part in _defects(drift):
        console.print(part)
    console.print()
    console.print(_compared(drift))
    if drift.items:
        console.print(_grid(row for item in drift.items for row in _item(item)))
    for path in drift.written:
        console.print(Text(f"Wrote {path}"), soft_wrap=True)
    if drift.written:
        console.print(Text("`--profiles` with that folder adds them; what is not known of them is said in each."))
        if drift.left:
            console.print(
                Text(f"Nothing is written of {', '.join(f'{item.kind} {item.name}' for item in drift.left)}.")
            )
