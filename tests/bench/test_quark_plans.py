"""The table of `docs/plans.md` is whole, and shows that every plan was carried out as it says."""

from bench.quark_plans import COLUMNS, DOCUMENT, NAME
from tests.quark.carried_plans import CASES


def table() -> list[dict[str, str]]:
    lines = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    header, *body = (tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines)
    assert header == COLUMNS
    return [dict(zip(COLUMNS, row, strict=True)) for row in body]


def test_has_a_row_for_every_plan_in_order() -> None:
    assert [(row["model"], row["plan"]) for row in table()] == [(case.model, case.kind) for case in CASES]


def test_shows_no_difference() -> None:
    for row in table():
        right, _, layers = row["layers as planned"].partition(" of ")
        assert (right, row["difference"], row["predicted B"]) == (layers, "0", row["exported B"])


def test_says_how_it_was_written() -> None:
    assert f"python -m bench {NAME}" in DOCUMENT.read_text(encoding="utf-8")
