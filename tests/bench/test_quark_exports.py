"""The table of `docs/exports.md` is whole, shows no difference, and is what the planner predicts today."""

import pytest

from bench.quark_exports import CATALOG, DOCUMENT, NAME, cases, predicted
from bench.registry import Row

Case = tuple[str, str, str]


def table() -> dict[Case, tuple[int, int, int]]:
    """Return predicted bytes, exported bytes and difference by model, KV cache and scheme."""
    lines = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    header, *body = (tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines)
    assert header == ("model", "KV cache", "scheme", "predicted B", "exported B", "difference")
    return {(row[0], row[1], row[2]): (int(row[3]), int(row[4]), int(row[5])) for row in body}


def test_has_a_row_for_every_case_in_order() -> None:
    assert list(table()) == cases()


def test_shows_no_difference() -> None:
    assert [case for case, (guess, real, difference) in table().items() if difference or guess != real] == []


@pytest.mark.parametrize("case", cases(), ids=" ".join)
def test_shows_what_the_planner_predicts(case: Case) -> None:
    assert table()[case][0] == predicted(*case)


def test_says_how_it_was_written_and_what_is_left_out() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert f"python -m bench {NAME}" in text
    left_out = [scheme.name for scheme in CATALOG.schemes if scheme.not_exportable]
    assert left_out
    assert [name for name in left_out if f"\n- {name}: " not in text] == []


def test_a_difference_of_one_byte_does_not_hold() -> None:
    assert Row("model, fp8", 10, "predicted", 10, exact=True).holds
    assert not Row("model, fp8", 11, "predicted", 10, exact=True).holds
