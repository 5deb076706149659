"""Support tables: for every scheme, layer kind and class of hardware the verdict that the stacks' sources give."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from solver.catalog import Catalog
from solver.catalog.backend import SupportRow
from solver.intake.inventory import Inventory
from solver.rules.options import Case, support_row
from solver.rules.service import Service
from tests.conftest import Analyse
from tests.data import rows

STACKS = ("vllm", "sglang", "llama_cpp", "onnxruntime_genai", "transformers", "tensorrt_llm")
ROLES = {"dense": ("q",), "moe": ("expert_gate",), "any": ("q", "expert_gate")}


@dataclass(frozen=True)
class Cell:
    """One published verdict."""

    scheme: str
    role: str
    hardware_class: str
    row: dict[str, str]

    def __str__(self) -> str:
        return f"{self.scheme} {self.role} {self.hardware_class}"


def classes() -> tuple[str, ...]:
    return tuple(sorted({name for row in rows("serving_support.csv") for name in row["hardware"].split()} - {"*"}))


def cells(stack: str) -> Iterator[Cell]:
    """Yield all cells of one stack's table; `*` stands for the classes that no other line names."""
    lines = defaultdict(list)
    for row in rows("serving_support.csv"):
        if row["stack"] == stack:
            lines[row["scheme"], row["layers"]].append(row)
    for (scheme, layers), group in lines.items():
        named = {name: row for row in group for name in row["hardware"].split()}
        for hardware_class in classes():
            row = named[hardware_class if hardware_class in named else "*"]
            for role in ROLES[layers]:
                yield Cell(scheme, role, hardware_class, row)


class Verdicts:
    """Asks the rules, on one device of each class."""

    def __init__(self, catalog: Catalog, inventory: Inventory) -> None:
        self.catalog = catalog
        self.inventory = inventory
        self.devices = {item.kernel_class: item for item in catalog.hardware}

    def of(self, stack: str, cell: Cell, model_type: str = "llama") -> SupportRow | None:
        service = Service(self.devices[cell.hardware_class], self.catalog.backends.get(stack), 4096, 1, 1)
        case = Case(
            family=self.inventory.layers[0],
            role=self.catalog.roles.named(cell.role),
            scheme=self.catalog.schemes.get(cell.scheme),
            service=service,
            inventory=self.inventory,
            model_type=model_type,
            allow_emulated=False,
        )
        return support_row(case)


@pytest.fixture(scope="module")
def verdicts(catalog: Catalog, analyse: Analyse) -> Verdicts:
    inventory = analyse("HuggingFaceTB/SmolLM2-135M-Instruct").inventory
    assert inventory is not None
    return Verdicts(catalog, inventory)


class TestEveryCell:
    @pytest.mark.parametrize("stack", STACKS)
    def test_is_in_the_published_table(self, catalog: Catalog, stack: str) -> None:
        schemes = {cell.scheme for cell in cells(stack)}
        # The older name of nvfp4 is no scheme of its own.
        assert schemes == {scheme.name for scheme in catalog.schemes} - {"fp4_block16_scale_e4m3"}
        assert len(classes()) == 16
        assert {item.kernel_class for item in catalog.hardware} - {None} == set(classes())

    @pytest.mark.parametrize("stack", STACKS)
    def test_has_the_verdict_of_the_stack_s_source(self, verdicts: Verdicts, stack: str) -> None:
        differing = {}
        for cell in cells(stack):
            row = verdicts.of(stack, cell, cell.row["model_type"] or "llama")
            found = row.support if row else "unsupported"
            if found != cell.row["support"]:
                differing[str(cell)] = (found, cell.row["support"])
        assert differing == {}

    @pytest.mark.parametrize("stack", STACKS)
    def test_says_what_the_kernels_speed_up(self, verdicts: Verdicts, stack: str) -> None:
        for cell in cells(stack):
            if cell.row["support"] in {"native", "emulated"}:
                row = verdicts.of(stack, cell, cell.row["model_type"] or "llama")
                assert row is not None
                assert row.speed == cell.row["speed"], str(cell)

    @pytest.mark.parametrize("stack", STACKS)
    def test_demands_the_divisors_that_the_stack_demands(self, verdicts: Verdicts, stack: str) -> None:
        for cell in cells(stack):
            row = verdicts.of(stack, cell, cell.row["model_type"] or "llama")
            for field, divisor in (("in", "in_features_multiple"), ("out", "out_features_multiple")):
                if cell.row[f"{field}_multiple"]:
                    assert getattr(row, divisor) == int(cell.row[f"{field}_multiple"]), str(cell)

    def test_that_one_model_type_has_is_unsupported_for_others(self, verdicts: Verdicts) -> None:
        special = [cell for cell in cells("vllm") if cell.row["model_type"]]
        assert {cell.row["model_type"] for cell in special} == {"gpt_oss"}
        for cell in special:
            assert verdicts.of("vllm", cell, "llama") is None, str(cell)


class TestBeyondTheTable:
    def test_without_a_stack_everything_goes(self, verdicts: Verdicts) -> None:
        for cell in cells("vllm"):
            row = verdicts.of("none", cell)
            assert row is not None
            assert row.support == "native"

    def test_a_device_without_a_class_is_served_by_no_table(self, catalog: Catalog) -> None:
        unclassed = [item for item in catalog.hardware if item.kernel_class is None]
        assert {item.name for item in unclassed} == {"mi100", "mi400_mi430x"}
        for backend in catalog.backends:
            if backend.name != "none":
                assert not any("*" in row.hardware for row in backend.support), backend.name
