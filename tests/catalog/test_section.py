"""Reading a section: what is refused, how names are found, and what a user's folder changes."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.catalog import Catalog
from solver.catalog.paths import PROFILES_DIR
from solver.catalog.section import canonical, read_yaml
from solver.errors import BadInputError, UnknownNameError
from tests.catalog.profiles import Changes, catalog_with, text_of

H20 = "hardware/h20.yaml"
MINE = "hardware/mine.yaml"
AS_MINE: Changes = {"name: h20": "name: mine", "title: NVIDIA H20": "title: My device", "[H20]": "[mine-1]"}


def refused(catalog: Catalog) -> BadInputError:
    """Return the error that reading the hardware section ends in."""
    with pytest.raises(BadInputError) as caught:
        list(catalog.hardware)
    return caught.value


def look_up(catalog: Catalog, name: str) -> None:
    """Read the hardware section, then ask it for a name."""
    assert list(catalog.hardware)
    catalog.hardware.get(name)


class TestRefusedFiles:
    def test_with_unknown_keys_name_the_key(self, tmp_path: Path) -> None:
        error = refused(catalog_with(tmp_path, {MINE: text_of(H20, AS_MINE, more="colour: red\n")}))
        assert "colour" in error.what
        assert error.where is not None
        assert error.where.endswith("mine.yaml")

    def test_with_unknown_keys_deep_inside_name_the_path(self, tmp_path: Path) -> None:
        text = text_of(H20, {**AS_MINE, "unit: B/s,": "unit: B/s, measured: yes,"})
        assert "bandwidth.measured" in refused(catalog_with(tmp_path, {MINE: text})).what

    def test_with_duplicate_keys_name_the_key(self, tmp_path: Path) -> None:
        error = refused(catalog_with(tmp_path, {MINE: text_of(H20, AS_MINE, more="name: again\n")}))
        assert "duplicate" in error.what
        assert "name" in error.what

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"vendor: NVIDIA": "vendor: 7"}, "vendor"),
            ({"aliases: [H20]": "aliases: H20"}, "aliases"),
            ({"unit: B/s": "unit: GB/s"}, "bandwidth.unit"),
            ({"value: 4000000000000": "value: fast"}, "bandwidth.value"),
            ({"value: 4000000000000, ": ""}, "bandwidth.value"),
            ({"status: China SKU": "status: [a, b]"}, "status"),
            ({"fp8_dialect: ocp": "fp8_dialect: ieee"}, "fp8_dialect"),
        ],
    )
    def test_with_wrong_types_name_file_and_field(self, tmp_path: Path, changes: Changes, field: str) -> None:
        error = refused(catalog_with(tmp_path, {MINE: text_of(H20, changes)}))
        assert error.where == str(tmp_path / MINE)
        assert f"{field}: " in error.what
        assert "\n" not in str(error)

    def test_without_a_needed_field_name_it(self, tmp_path: Path) -> None:
        text = text_of(H20, AS_MINE).replace("default_backend: vllm\n", "")
        assert "default_backend: " in refused(catalog_with(tmp_path, {MINE: text})).what

    @pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "-1", "true", "'5'"])
    def test_with_a_memory_that_is_no_amount_name_the_field(self, tmp_path: Path, value: str) -> None:
        text = text_of(H20, {**AS_MINE, "memory:\n": f"memory: {{value: {value}, unit: B, source: a guess}}\n"})
        assert "memory.value: " in refused(catalog_with(tmp_path, {MINE: text})).what

    @pytest.mark.parametrize("content", ["", "- 1\n- 2\n", "just text\n", "null\n"])
    def test_that_hold_no_mapping_are_named(self, tmp_path: Path, content: str) -> None:
        error = refused(catalog_with(tmp_path, {MINE: content}))
        assert error.where == str(tmp_path / MINE)
        assert "document" in error.what

    @pytest.mark.parametrize(
        "content",
        [
            b"a: [1\nb: 2",
            b"\xff\xfe\x00",
            b"name: \x07",
            b"? {a: 1}\n: 2\n",
            b"name: a\n---\nname: b\n",
            b'!!python/object/apply:os.system ["exit 1"]',
            b"name: &a [*b]",
        ],
    )
    def test_that_are_no_yaml_are_named(self, tmp_path: Path, content: bytes) -> None:
        error = refused(catalog_with(tmp_path, {MINE: content}))
        assert error.where == str(tmp_path / MINE)
        assert "not valid YAML" in error.what

    def test_nested_without_end_are_named(self, tmp_path: Path) -> None:
        assert refused(catalog_with(tmp_path, {MINE: "[" * 1200})).where == str(tmp_path / MINE)

    @pytest.mark.parametrize("content", ["a: [1\nb: 2", "name: a\nname: b\n"])
    def test_end_in_one_line_that_speaks_of_the_user_s_file(self, tmp_path: Path, content: str) -> None:
        message = str(refused(catalog_with(tmp_path, {MINE: content})))
        assert "\n" not in message
        assert "unicode string" not in message
        assert "suppress" not in message

    def test_that_are_folders_are_named(self, tmp_path: Path) -> None:
        (tmp_path / MINE).mkdir(parents=True)
        assert refused(Catalog(tmp_path)).where == str(tmp_path / MINE)

    @pytest.mark.parametrize(
        "shape", ["[out, inn]", "[out, in/]", "[out, in*2]", "[out, in/0]", "[out, 0*in]", "[0, in]", "[8*8, in]"]
    )
    def test_with_a_dimension_that_is_none_name_it(self, tmp_path: Path, shape: str) -> None:
        text = text_of("schemes/fp8.yaml", {"name: fp8\n": "name: mine\n", "[out, in]": shape})
        with pytest.raises(BadInputError, match="storage"):
            catalog_with(tmp_path, {"schemes/mine.yaml": text}).schemes.get("mine")

    @pytest.mark.parametrize(
        "weight",
        [
            "{format: x, bits: 4, granularity: per_group}",
            "{format: x, bits: 4, granularity: per_tensor, group_size: 32}",
            "{format: x, bits: 0, granularity: per_tensor}",
        ],
    )
    def test_with_a_contradictory_format_name_it(self, tmp_path: Path, weight: str) -> None:
        changes = {"name: fp8\n": "name: mine\n", "{format: fp8_e4m3, bits: 8, granularity: per_tensor}": weight}
        with pytest.raises(BadInputError, match="weight"):
            catalog_with(tmp_path, {"schemes/mine.yaml": text_of("schemes/fp8.yaml", changes)}).schemes.get("mine")

    def test_with_negative_noise_name_it(self, tmp_path: Path) -> None:
        text = text_of("schemes/fp8.yaml", {"name: fp8\n": "name: mine\n", "gauss: 0.0007": "gauss: -0.0007"})
        with pytest.raises(BadInputError, match="noise"):
            catalog_with(tmp_path, {"schemes/mine.yaml": text}).schemes.get("mine")

    def test_do_not_stand_in_the_way_of_other_sections(self, tmp_path: Path) -> None:
        assert catalog_with(tmp_path, {MINE: "not: [valid"}).schemes.get("fp8").name == "fp8"


class TestCanonical:
    @pytest.mark.parametrize(
        ("name", "same"),
        [
            ("int4_wo_128", "INT4-WO 128"),
            ("Qwen/Qwen3-8B", "qwen/qwen3_8b"),
            ("TensorRT-LLM", "tensorrt llm"),
            ("llama.cpp", "llamacpp"),
            ("MI300X", "mi-300x"),
        ],
    )
    def test_ignores_case_and_punctuation(self, name: str, same: str) -> None:
        assert canonical(name) == canonical(same)

    @pytest.mark.parametrize(("one", "other"), [("Qwen3-1.7B", "Qwen3-17B"), ("Qwen2.5-7B", "Qwen25-7B")])
    def test_keeps_decimal_points(self, one: str, other: str) -> None:
        assert canonical(one) != canonical(other)

    @settings(deadline=None)
    @given(st.text())
    def test_of_a_canonical_name_is_itself(self, name: str) -> None:
        assert canonical(canonical(name)) == canonical(name)


class TestLookup:
    @pytest.mark.parametrize(
        ("section", "name", "expected"),
        [
            ("schemes", "FP8", "fp8"),
            ("schemes", "INT4-WO-128", "int4_wo_128"),
            ("hardware", "MI-300X", "mi300x"),
            ("hardware", "amd instinct mi300x", "mi300x"),
            ("hardware", "NVIDIA GeForce RTX 4090", "rtx4090"),
            ("hardware", "A100-80GB", "a100_80"),
            ("backends", "vLLM", "vllm"),
            ("backends", "llama.cpp", "llama_cpp"),
            ("backends", "TRT-LLM", "tensorrt_llm"),
            ("models", "qwen3-8b", "Qwen/Qwen3-8B"),
            ("models", "Qwen3.5 27B", "Qwen/Qwen3.5-27B"),
            ("models", "meta-llama/Llama-3.1-70B", "meta-llama/Meta-Llama-3.1-70B"),
        ],
    )
    def test_finds_an_entry_however_it_is_written(
        self, catalog: Catalog, section: str, name: str, expected: str
    ) -> None:
        assert getattr(catalog, section).get(name).name == expected

    @pytest.mark.parametrize("name", ["", "...", "Qwen35-27B", "fp", "int4_wo", "mi300"])
    def test_finds_nothing_for_half_a_name(self, catalog: Catalog, name: str) -> None:
        assert all(section.find(name) is None for section in (catalog.schemes, catalog.hardware, catalog.models))

    @pytest.mark.parametrize(
        ("section", "name", "nearest"),
        [
            ("schemes", "mxpf4", "mxfp4"),
            ("schemes", "int4_w_128", "int4_wo_128"),
            ("hardware", "mi300", "mi300x"),
            ("backends", "vlm", "vllm"),
            ("models", "Qwen/Qwen3-8", "Qwen/Qwen3-8B"),
            ("templates", "lama", "llama"),
        ],
    )
    def test_answers_an_unknown_name_with_the_nearest(
        self, catalog: Catalog, section: str, name: str, nearest: str
    ) -> None:
        with pytest.raises(UnknownNameError) as caught:
            getattr(catalog, section).get(name)
        assert nearest in caught.value.nearest
        assert nearest in str(caught.value)
        assert name in str(caught.value)

    def test_names_no_neighbour_of_what_is_like_nothing(self, catalog: Catalog) -> None:
        with pytest.raises(UnknownNameError) as caught:
            catalog.hardware.get("%%%")
        assert caught.value.nearest == []
        assert "Did you mean" not in str(caught.value)
        assert "solve profiles list hardware" in str(caught.value)

    def test_names_each_neighbour_once(self, catalog: Catalog) -> None:
        nearest = catalog.hardware.nearest("mi300")
        assert len(nearest) == len(set(nearest)) <= 3


class TestFolderOfTheUser:
    def test_adds_entries(self, catalog: Catalog, tmp_path: Path) -> None:
        mine = catalog_with(tmp_path, {MINE: text_of(H20, AS_MINE)})
        assert mine.hardware.get("My Device").name == "mine"
        assert mine.hardware.get("mine1").name == "mine"
        assert len(mine.hardware) == len(catalog.hardware) + 1
        assert mine.hardware.get("h20") == catalog.hardware.get("h20")

    def test_overrides_the_entry_of_the_same_file_name(self, catalog: Catalog, tmp_path: Path) -> None:
        mine = catalog_with(tmp_path, {H20: text_of(H20, {"status: China SKU": "status: mine"})})
        assert mine.hardware.get("H20").status == "mine"
        assert catalog.hardware.get("H20").status != "mine"
        assert len(mine.hardware) == len(catalog.hardware)

    def test_replaces_the_single_files(self, tmp_path: Path) -> None:
        role = "{name: all, kind: dense, parallel: column, patterns: ['*']}"
        mine = catalog_with(tmp_path, {"roles.yaml": f"source: made up here\nroles: [{role}]\n"})
        assert mine.roles.of("model.layers.{block}.self_attn.q_proj").name == "all"

    def test_must_be_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("", encoding="utf-8")
        for path in (tmp_path / "file", tmp_path / "absent"):
            with pytest.raises(BadInputError, match="no folder"):
                Catalog(path)

    def test_may_not_use_the_name_of_another_entry(self, tmp_path: Path) -> None:
        mine = catalog_with(tmp_path, {MINE: text_of(H20)})
        with pytest.raises(BadInputError, match=r"mine\.yaml"):
            look_up(mine, "NVIDIA H20")

    def test_may_not_take_the_alias_of_another_entry(self, tmp_path: Path) -> None:
        mine = catalog_with(tmp_path, {MINE: text_of(H20, {**AS_MINE, "[H20]": "[H200]"})})
        with pytest.raises(BadInputError, match="H200"):
            look_up(mine, "H200")


def test_our_own_files_are_read_as_yaml_1_2_like_the_users(tmp_path: Path) -> None:
    # Two parsers: libyaml for what the package holds, ruamel's own for what anyone may write.
    for path in sorted(PROFILES_DIR.rglob("*.yaml")):
        copy = tmp_path / "copy.yaml"
        copy.write_bytes(path.read_bytes())
        assert repr(read_yaml(path)) == repr(read_yaml(copy)), path
