"""What a person sees: complete, within 80 columns, and patterns to the letter."""

from io import StringIO

from rich.console import Console

from solver.catalog import Catalog
from solver.plan.confirm import draft
from solver.plan.decisions import decision_table
from solver.plan.document import Answer
from solver.report.alternatives import percent_perplexity, print_answer
from solver.report.decisions import print_plan
from solver.report.profiles import SECTION_NAMES, listing
from tests.conftest import Solve

ROWS = [
    "global_scheme",
    "kv_cache_scheme",
    "exclude_layers",
    "layer_quant_config",
    "algorithm",
    "calibration_dataset",
    "num_calib_data",
    "seq_len",
    "evaluation_intent",
]


def recorder() -> Console:
    return Console(width=80, record=True, file=StringIO(), highlight=False)


def printed(console: Console) -> str:
    text = console.export_text()
    assert max(len(line) for line in text.splitlines()) <= 80
    return text


class TestAlternatives:
    def test_show_every_plan_with_its_parts_and_proof(self, required_answers: dict[str, Answer]) -> None:
        for answer in required_answers.values():
            console = recorder()
            print_answer(answer, console)
            text = printed(console)
            for item in answer.alternatives:
                first, *others = item.name.split(", ")
                assert f"{item.id} {first}" in text
                assert [name for name in others if name not in text] == []
                for name in item.scheme_shares:
                    assert name in text
            for word in (
                "weights",
                "cache",
                "activ.",
                "runtime",
                "total",
                "est.",
                "optimal",
                "ms/token",
                "seed 0",
            ):
                assert word in text
            assert f">{answer.recommended} " in text

    def test_losses_read_as_rises_of_perplexity(self) -> None:
        assert percent_perplexity(0.01) == "1 %"
        assert percent_perplexity(0.0233) == "2.4 %"
        assert percent_perplexity(1.1) == "200 %"


class TestDecisions:
    def test_are_the_nine_rows_with_value_and_reason(
        self, required_answers: dict[str, Answer], catalog: Catalog
    ) -> None:
        for answer in required_answers.values():
            rows = decision_table(draft(answer), catalog)
            assert [row.decision for row in rows] == ROWS
            assert all(row.value and row.reason for row in rows)

    def test_print_patterns_to_the_letter(self, solve: Solve, catalog: Catalog) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, layers={"*self_attn.[kqv]_proj": "fp8"})
        plan = draft(answer)
        console = recorder()
        print_plan(plan, decision_table(plan, catalog), console)
        text = printed(console)
        for pattern in (*plan.exclude_layers, *plan.layer_quant_config):
            assert pattern in text

    def test_print_every_risk(self, solve: Solve, catalog: Catalog) -> None:
        plan = draft(solve("openai/gpt-oss-20b", budget_bytes=24 * 10**9))
        assert plan.risks
        console = recorder()
        print_plan(plan, decision_table(plan, catalog), console)
        text = " ".join(printed(console).split())
        for risk in plan.risks:
            assert f"{risk.severity} risk" in text
            assert risk.message in text


class TestListings:
    def test_name_every_entry_within_80_columns(self, catalog: Catalog) -> None:
        for section in SECTION_NAMES:
            console = recorder()
            console.print(listing(catalog, section))
            assert printed(console)
