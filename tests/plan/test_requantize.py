"""Plans from checkpoints that are quantized already: what is said, what is kept, and how they are handed over."""

import pytest

from solver.errors import BadInputError
from solver.export.options import ExportOptions
from solver.export.targets import export_plan
from solver.plan.confirm import draft
from solver.plan.document import Alternative, Answer
from tests.conftest import Solve

DEEPSEEK = "deepseek-ai/DeepSeek-V3"
GPT_OSS = "openai/gpt-oss-20b"


def again(item: Alternative) -> list[str]:
    return [risk.recovery_hint for risk in item.risks if risk.message.startswith("re-quantizes")]


@pytest.fixture(scope="module")
def from_fp8(required_answers: dict[str, Answer]) -> Answer:
    return required_answers[DEEPSEEK]


class TestNotes:
    def test_say_once_that_a_format_is_quantized_again(self, from_fp8: Answer) -> None:
        for item in from_fp8.alternatives:
            (hint,) = again(item)
            assert "--file2file" in hint
            assert "16-bit original" in hint

    def test_are_silent_where_the_stored_layers_stay(self, required_answers: dict[str, Answer]) -> None:
        notes = [again(item) for item in required_answers[GPT_OSS].alternatives]
        assert [] in notes
        assert all("--file2file" not in hint for hints in notes for hint in hints)

    def test_are_none_for_a_checkpoint_in_16_bits(self, required_answers: dict[str, Answer]) -> None:
        assert all(not again(item) for item in required_answers["Qwen/Qwen3-8B"].alternatives)
        assert required_answers["Qwen/Qwen3-8B"].model.stored is None


class TestPlans:
    def test_state_how_the_checkpoint_is_stored(self, from_fp8: Answer) -> None:
        stored = from_fp8.model.stored
        assert stored is not None
        assert (stored.method, stored.place, stored.formats) == ("fp8", "quantization_config", ("fp8_block",))
        assert stored.file2file

    def test_leave_stored_experts_alone_where_they_fit(self, required_answers: dict[str, Answer]) -> None:
        answer = required_answers[GPT_OSS]
        safest = min(answer.alternatives, key=lambda item: item.risk.delta_nll if item.risk else 0.0)
        assert any("experts" in pattern for pattern in safest.exclude_layers)
        assert any("as it is stored fits too" in note for note in answer.assumptions)

    def test_quantize_where_all_is_stored_quantized_and_fits(self, solve: Solve) -> None:
        answer = solve(DEEPSEEK, budget_bytes=200 * 10**9, tensor_parallel=8, hardware="mi355x")
        assert all(item.scheme_shares.get("native", 0.0) < 0.5 for item in answer.alternatives)


class TestFileToFile:
    def test_is_handed_over_for_what_it_reads(self, from_fp8: Answer) -> None:
        command = export_plan(draft(from_fp8), "quantize-quark", ExportOptions(file2file_quantization=True), draft=True)
        assert "--file2file_quantization" in command

    def test_is_refused_for_what_it_does_not_read(self, required_answers: dict[str, Answer]) -> None:
        plan = draft(required_answers[GPT_OSS])
        with pytest.raises(BadInputError, match="does not read a checkpoint that is stored as mxfp4_experts"):
            export_plan(plan, "quantize-quark", ExportOptions(file2file_quantization=True), draft=True)
        assert "--file2file_quantization" not in export_plan(plan, "quantize-quark", ExportOptions(), draft=True)
