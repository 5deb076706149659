"""Headers of safetensors files: what is stored to the byte, and files that are damaged or incomplete."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver.errors import BadInputError
from solver.intake.headers import read_headers
from solver.intake.tensors import Checkpoint
from tests.intake.checkpoints import save_model
from tests.intake.frameworks import frameworks_loaded

INDEX = "model.safetensors.index.json"


def write(path: Path, header: Any, size: int = 0) -> Path:
    """Write a safetensors file by its documented layout: length, JSON header, data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(size))
    return path


def tensor(dtype: str, shape: list[int], start: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def data_bytes(folder: Path) -> int:
    """Return the bytes after the headers of all files of a folder."""
    total = 0
    for path in folder.glob("*.safetensors"):
        total += path.stat().st_size - 8 - struct.unpack("<Q", path.read_bytes()[:8])[0]
    return total


def read(folder: Path) -> Checkpoint:
    found = read_headers(folder)
    assert found is not None
    return found


def refusal(folder: Path) -> BadInputError:
    with pytest.raises(BadInputError) as caught:
        read_headers(folder)
    assert "\n" not in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.mend is not None
    assert str(folder) in caught.value.where
    return caught.value


class TestReading:
    def test_one_file_and_many_shards_hold_the_same(self, tmp_path: Path) -> None:
        single = save_model(tmp_path / "single", "qwen3")
        sharded = save_model(tmp_path / "sharded", "qwen3", shard="300KB")
        assert len(list(sharded.glob("*.safetensors"))) > 2
        one, many = read(single), read(sharded)
        assert one.tensors == many.tensors
        assert one.size_bytes == many.size_bytes == data_bytes(single) == data_bytes(sharded)

    @pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
    def test_says_the_type_of_the_weights(self, dtype: str, tmp_path: Path) -> None:
        assert read(save_model(tmp_path, "gptj", dtype=dtype)).weight_type == dtype

    @pytest.mark.parametrize(
        ("dtype", "bits"),
        [
            *((name, 64) for name in ("F64", "I64", "U64", "C64")),
            *((name, 32) for name in ("F32", "I32", "U32")),
            *((name, 16) for name in ("F16", "BF16", "I16", "U16")),
            *((name, 8) for name in ("I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ")),
            *((name, 6) for name in ("F6_E2M3", "F6_E3M2")),
            ("F4", 4),
        ],
    )
    def test_counts_the_bytes_of_every_type_as_safetensors_does(self, dtype: str, bits: int, tmp_path: Path) -> None:
        # safetensors itself refuses a header whose offsets are not those of type and shape.
        write(tmp_path / "model.safetensors", {"a": tensor(dtype, [16, 3], 0, 6 * bits)}, 6 * bits)
        (found,) = read(tmp_path).tensors
        assert (found.dtype, found.shape, found.size_bytes) == (dtype, (16, 3), 6 * bits)

    def test_does_not_believe_the_totals_of_the_index(self, tmp_path: Path) -> None:
        folder = save_model(tmp_path, "qwen3", shard="300KB")
        truth = read(folder).size_bytes
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        index["metadata"] = {"total_size": 2 * truth, "total_parameters": 1}
        (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")
        assert read(folder).size_bytes == truth

    def test_knows_only_names_by_an_index_alone(self, tmp_path: Path) -> None:
        folder = save_model(tmp_path, "qwen3", shard="300KB")
        names = [item.name for item in read(folder).tensors]
        for path in folder.glob("*.safetensors"):
            path.unlink()
        alone = read(folder)
        assert [item.name for item in alone.tensors] == names
        assert not alone.has_shapes
        assert alone.weight_type is None

    def test_finds_nothing_where_there_is_nothing(self, tmp_path: Path) -> None:
        assert read_headers(tmp_path) is None
        (tmp_path / "pytorch_model.bin").write_bytes(b"x")
        assert read_headers(tmp_path) is None

    def test_takes_a_git_lfs_pointer_for_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4\n"
        (tmp_path / "model.safetensors").write_text(pointer, encoding="utf-8")
        assert read_headers(tmp_path) is None
        (tmp_path / "model-1.safetensors").write_text(pointer, encoding="utf-8")
        (tmp_path / INDEX).write_text('{"weight_map": {"a": "model-1.safetensors"}}', encoding="utf-8")
        assert not read(tmp_path).has_shapes

    def test_takes_a_part_of_a_hub_cache_for_its_index(self, tmp_path: Path) -> None:
        folder = save_model(tmp_path, "qwen3", shard="300KB")
        min(folder.glob("*.safetensors")).unlink()
        found = read_headers(folder, all_or_names=True)
        assert found is not None
        assert not found.has_shapes

    def test_loads_no_framework(self, tmp_path: Path) -> None:
        folder = save_model(tmp_path, "qwen3")
        code = (
            "from pathlib import Path; from solver.intake.headers import read_headers; "
            "assert read_headers(Path(sys.argv[1])).elements"
        )
        assert frameworks_loaded(code, str(folder)) == set()


TWO = {"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [2], 8, 16)}


class TestDamage:
    @pytest.mark.parametrize(
        ("header", "size"),
        [
            (TWO, 15),
            (TWO, 17),
            ({"a": tensor("F32", [3], 0, 8)}, 8),
            ({"a": tensor("F99", [2], 0, 8)}, 8),
            ({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [2], 4, 12)}, 12),
            ({"a": tensor("F32", [2**62, 8], 0, 8)}, 8),
            ({"a": tensor("F32", [-2], 0, 8)}, 8),
            ({"a": {"dtype": "F32"}}, 8),
            ([1], 0),
            (b"{", 0),
            (b"\xff\xfe", 0),
            ({}, 0),
        ],
        ids=str,
    )
    def test_of_a_file_is_said(self, header: Any, size: int, tmp_path: Path) -> None:
        write(tmp_path / "model.safetensors", header, size)
        refusal(tmp_path)

    @pytest.mark.parametrize("content", [b"", b"\0" * 7, b"\xff" * 8, struct.pack("<Q", 10**9), b"PK\3\4" * 4])
    def test_of_its_first_bytes_is_said(self, content: bytes, tmp_path: Path) -> None:
        (tmp_path / "model.safetensors").write_bytes(content)
        assert "safetensors" in refusal(tmp_path).what

    @settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.integers(0, 200), st.binary(min_size=1, max_size=8))
    def test_anywhere_in_a_header_is_said_or_harmless(self, tmp_path: Path, at: int, noise: bytes) -> None:
        path = write(tmp_path / "model.safetensors", TWO, 16)
        content = path.read_bytes()
        path.write_bytes((content[:at] + noise + content[at + len(noise) :])[: len(content)])
        try:
            found = read_headers(tmp_path)
        except BadInputError:
            refusal(tmp_path)
        else:
            assert found is not None
            assert found.size_bytes == 16

    @pytest.mark.parametrize(
        "content",
        [
            "",
            "{",
            "[]",
            "null",
            "{}",
            '{"weight_map": {}}',
            '{"weight_map": []}',
            '{"weight_map": {"a": 1}}',
            '{"weight_map": {"a": ""}}',
            '{"weight_map": {"a": "../model.safetensors"}}',
            '{"weight_map": {"a": "/etc/passwd"}}',
            '{"weight_map": {"a": "x", "a": "y"}}',
            "[" * 20_000,
        ],
        ids=lambda text: text[:40],
    )
    def test_of_an_index_is_said(self, content: str, tmp_path: Path) -> None:
        (tmp_path / INDEX).write_text(content, encoding="utf-8")
        assert refusal(tmp_path).where == str(tmp_path / INDEX)

    def test_by_a_missing_shard_names_it(self, tmp_path: Path) -> None:
        folder = save_model(tmp_path, "qwen3", shard="300KB")
        gone = max(folder.glob("*.safetensors"))
        gone.unlink()
        assert gone.name in refusal(folder).what

    def test_by_a_shard_that_is_cut_off_names_it(self, tmp_path: Path) -> None:
        folder = save_model(tmp_path, "qwen3", shard="300KB")
        cut = max(folder.glob("*.safetensors"))
        cut.write_bytes(cut.read_bytes()[:-1])
        assert refusal(folder).where == str(cut)

    def test_by_a_tensor_in_two_shards_names_it(self, tmp_path: Path) -> None:
        for name in ("x.safetensors", "y.safetensors"):
            write(tmp_path / name, {"a": tensor("F32", [2], 0, 8)}, 8)
        index = {"weight_map": {"a": "x.safetensors", "b": "y.safetensors"}}
        (tmp_path / INDEX).write_text(json.dumps(index), encoding="utf-8")
        assert "'a'" in refusal(tmp_path).what

    def test_by_an_index_of_another_revision_is_said(self, tmp_path: Path) -> None:
        write(tmp_path / "x.safetensors", {"a": tensor("F32", [2], 0, 8)}, 8)
        index = {"weight_map": {"a": "x.safetensors", "b": "x.safetensors"}}
        (tmp_path / INDEX).write_text(json.dumps(index), encoding="utf-8")
        assert "'b'" in refusal(tmp_path).what
