"""The page of rules is that of the catalogue."""

from solver.catalog import Catalog
from solver.report.rules_page import PAGE, rules_page


def test_the_page_on_disk_is_that_of_the_rules(catalog: Catalog) -> None:
    assert PAGE.read_text(encoding="utf-8") == rules_page(catalog)


def test_every_row_has_five_cells(catalog: Catalog) -> None:
    rows = [line for line in rules_page(catalog).splitlines() if line.startswith("| `")]
    assert len(rows) == len(catalog.rules)
    assert {line.replace(r"\|", "").count("|") for line in rows} == {6}
