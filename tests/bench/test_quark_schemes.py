"""What Quark made of every scheme on every architecture, held against today's plans; `docs/schemes.md` shows it."""

from collections.abc import Iterator

import pytest

from bench.loaders.plans import ARCHITECTURES, CATALOG
from bench.quark_schemes import DOCUMENT, NAME, NOT_RUN, Answer, cases, one_scheme, predicted, read_answers

ANSWERS = read_answers()
SHOWN = tuple(name for name in ARCHITECTURES if name not in NOT_RUN)


def table() -> Iterator[tuple[str, ...]]:
    lines = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    for line in lines[1:]:
        yield tuple(cell.strip() for cell in line.strip("|").split("|"))


def of(architecture: str) -> list[Answer]:
    return [answer for answer in ANSWERS if answer.architecture == architecture]


@pytest.mark.parametrize("architecture", SHOWN)
def test_quark_wrote_the_bytes_that_are_predicted_today(architecture: str) -> None:
    wrong = []
    for answer in of(architecture):
        found = one_scheme(architecture, answer.scheme)
        assert found is not None
        quantized = sum(name == answer.scheme for name in found.schemes.values())
        today = (found.written, len(found.schemes), quantized, predicted(found))
        if today != (answer.patterns, answer.linears, answer.quantized, answer.exported_bytes):
            wrong.append((answer, today))
    assert wrong == []


def test_quark_resolved_every_layer_as_planned() -> None:
    assert [answer for answer in ANSWERS if answer.as_planned != answer.linears] == []


def test_every_architecture_and_every_scheme_is_there() -> None:
    assert list(dict.fromkeys(answer.architecture for answer in ANSWERS)) == list(SHOWN)
    exportable = {scheme.name for scheme in CATALOG.schemes if not scheme.not_exportable}
    assert {answer.scheme for answer in ANSWERS} == exportable
    assert len(SHOWN) >= 20


def test_the_document_shows_all_of_it() -> None:
    rows = list(table())
    assert [(row[0], row[1], row[2], row[3], row[6]) for row in rows] == [
        (
            item.architecture,
            item.scheme,
            f"{item.quantized} of {item.linears}",
            str(item.patterns),
            str(item.exported_bytes),
        )
        for item in ANSWERS
    ]
    assert {row[7] for row in rows} == {"0"}
    assert f"python -m bench {NAME}" in DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.slow
def test_no_case_is_left_out() -> None:
    assert [(architecture, scheme) for architecture, scheme, _ in cases()] == [
        (answer.architecture, answer.scheme) for answer in ANSWERS
    ]
