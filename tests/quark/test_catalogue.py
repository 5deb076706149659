"""The profiles say of AMD Quark what the installed package does."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from solver.catalog import Catalog
from solver.catalog.paths import PROFILES_DIR
from solver.catalog.scheme import TensorFormat
from solver.catalog.section import read_yaml
from tests.quark.conftest import SolveTiny
from tests.quark.real import config_of
from tests.quark.tiny import tiny_config

pytestmark = pytest.mark.usefixtures("quark")


def names_in(section: str, key: str = "name") -> list[str]:
    """Return the names of all bundled profiles of one section."""
    return [read_yaml(path)[key] for path in sorted((PROFILES_DIR / section).glob("*.yaml"))]


SCHEMES = names_in("schemes")
UNEXPORTABLE = ("bfp16", "mx6", "mx9")
EXPORTABLE = [name for name in SCHEMES if name not in UNEXPORTABLE]
TEMPLATES = names_in("templates", "model_type")


class TestNames:
    def test_of_schemes_are_those_of_quark(self, quark: Any) -> None:
        assert sorted(SCHEMES) == sorted(quark.LLMTemplate.get_supported_schemes())
        assert len(SCHEMES) == 28

    def test_of_templates_are_those_of_quark(self, quark: Any) -> None:
        assert sorted(TEMPLATES) == sorted(quark.LLMTemplate.list_available())

    def test_of_algorithms_are_those_of_quark(self) -> None:
        from quark.torch.quantization.config.algo_configs import get_supported_algorithm_types

        assert sorted(names_in("algorithms")) == sorted(get_supported_algorithm_types())


class TestTemplates:
    @pytest.mark.parametrize("model_type", TEMPLATES)
    def test_have_the_patterns_of_quark(self, model_type: str, catalog: Catalog, quark: Any) -> None:
        ours, theirs = catalog.templates.get(model_type), quark.LLMTemplate.get(model_type)
        q_layers = theirs.q_layer_name or []
        assert ours.builtin
        assert list(ours.kv_layers) == (theirs.kv_layers_name or [])
        assert list(ours.q_layers) == ([q_layers] if isinstance(q_layers, str) else q_layers)
        assert list(ours.exclude_layers) == theirs.exclude_layers_name
        assert list(ours.gate_up_layers) == theirs.gate_up_layers_name
        assert ours.file2file_converters == bool(theirs.f2f_weight_converters)

    @pytest.mark.parametrize("model_type", TEMPLATES)
    def test_have_the_algorithms_of_quark(self, model_type: str, catalog: Catalog, quark: Any) -> None:
        configured = quark.LLMTemplate.get(model_type).algo_config
        assert set(catalog.templates.get(model_type).algorithms) == {
            name for name, config in configured.items() if config is not None
        }


def check_format(ours: TensorFormat, theirs: Any) -> None:
    """Check a format against Quark's specification of the same operand."""
    stages = theirs if isinstance(theirs, list) else [theirs]
    # Of two stages the wide one holds the scales, or the grid that the narrow one lies on.
    spec = next((stage for stage in stages if stage.dtype.value in {"fp4", "int4"}), stages[0])
    granularity = spec.qscheme.name if spec.qscheme else "per_group"
    per_token = granularity == "per_channel" and spec.ch_axis == 1
    assert ours.format == {"fp4": "fp4_e2m1"}.get(spec.dtype.value, spec.dtype.value)
    assert ours.granularity == ("per_token" if per_token else granularity)
    assert ours.group_size == spec.group_size
    assert ours.symmetric == (spec.symmetric is not False)


class TestSchemes:
    @pytest.mark.parametrize("name", SCHEMES)
    def test_have_the_formats_of_quark(self, name: str, catalog: Catalog, quark: Any) -> None:
        ours = catalog.schemes.get(name)
        theirs = quark.LLMTemplate._SCHEME_COLLECTION.get_scheme(name).config
        check_format(ours.weight, theirs.weight)
        assert ours.weight_only == (theirs.input_tensors is None)
        if ours.activation is not None:
            check_format(ours.activation, theirs.input_tensors)

    @pytest.mark.parametrize("name", SCHEMES)
    def test_say_whether_activations_are_scaled_as_they_come(self, name: str, catalog: Catalog, quark: Any) -> None:
        theirs = quark.LLMTemplate._SCHEME_COLLECTION.get_scheme(name).config.input_tensors
        stages = theirs if isinstance(theirs, list) else [theirs]
        stated = stages[0].is_dynamic if theirs is not None else None
        if stated is not None:
            activation = catalog.schemes.get(name).activation
            assert activation is not None
            assert activation.dynamic == stated


def quantized(config: Any, quant_config: Any, quark: Any) -> Any:
    """Return a small model with random weights, quantized by Quark."""
    import torch
    import transformers

    torch.manual_seed(0)
    model = getattr(transformers, config.architectures[0])._from_config(config).eval()
    quark.utils.llm.preprocess_for_quantization(model)
    text = config.get_text_config()
    tokens = torch.randint(3, text.vocab_size, (4, 16))
    quantizer = quark.ModelQuantizer(quant_config)
    return quantizer.freeze(quantizer.quantize_model(model, torch.utils.data.DataLoader(tokens, batch_size=1)))


def exported(model: Any, folder: Path, quark: Any) -> dict[str, int]:
    """Return the bytes of each tensor that Quark's export writes."""
    import torch

    with torch.no_grad():
        quark.export_safetensors(
            model=model,
            output_dir=str(folder),
            custom_mode="quark",
            weight_format="real_quantized",
            pack_method="reorder",
        )
    sizes: dict[str, int] = {}
    for path in folder.glob("*.safetensors"):
        content = path.read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        for name, tensor in header.items():
            if name != "__metadata__":
                first, last = tensor["data_offsets"]
                sizes[name] = last - first
    return sizes


def shapes_of(config: Any) -> dict[str, tuple[int, int]]:
    """Return the linears of a small model that its template does not exclude, as (in_features, out_features)."""
    import torch
    import transformers

    with torch.device("meta"):
        model = getattr(transformers, config.architectures[0])._from_config(config)
    return {
        path: (module.in_features, module.out_features)
        for path, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and path != "lm_head"
    }


def bytes_of(path: str, sizes: dict[str, int]) -> int:
    """Return the bytes of the tensors that belong to one module."""
    return sum(size for name, size in sizes.items() if name.rpartition(".")[0] == path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
class TestExportedBytes:
    # 128 and 256 divide by every group, 144 and 272 by none beyond 16: then last groups are short, or Quark refuses.
    @pytest.mark.parametrize("widths", [(128, 256), (144, 272)], ids=str)
    @pytest.mark.parametrize("name", EXPORTABLE)
    def test_of_every_layer_are_those_of_the_scheme(
        self, name: str, widths: tuple[int, int], catalog: Catalog, tmp_path: Path, quark: Any
    ) -> None:
        scheme = catalog.schemes.get(name)
        hidden, intermediate = widths
        config = tiny_config("llama", num_hidden_layers=1, hidden_size=hidden, intermediate_size=intermediate)
        quant_config = quark.LLMTemplate.get("llama").get_config(scheme=name)
        if hidden % scheme.in_features_multiple:
            with pytest.raises(ValueError, match="not divisible"):
                quantized(config, quant_config, quark)
            return
        shapes = shapes_of(config)
        sizes = exported(quantized(config, quant_config, quark), tmp_path, quark)
        assert {path: bytes_of(path, sizes) for path in shapes} == {
            path: scheme.size_bytes(*shape, 2) for path, shape in shapes.items()
        }

    @pytest.mark.parametrize("name", UNEXPORTABLE)
    def test_are_none_where_the_profile_says_so(self, name: str, catalog: Catalog, tmp_path: Path, quark: Any) -> None:
        quant_config = quark.LLMTemplate.get("llama").get_config(scheme=name)
        model = quantized(tiny_config("llama", num_hidden_layers=1), quant_config, quark)
        assert catalog.schemes.get(name).not_exportable
        with pytest.raises((AssertionError, ValueError)):
            exported(model, tmp_path, quark)

    @pytest.mark.parametrize("kv", ["none", "fp8"])
    @pytest.mark.parametrize(
        "name", ["llama", "qwen3", "gemma3_text", "gemma3", "phi3", "mixtral", "qwen3_moe", "gpt_oss", "deepseek_v3"]
    )
    def test_of_a_whole_model_are_those_of_the_plan(
        self, name: str, kv: str, solve_tiny: SolveTiny, tmp_path: Path, quark: Any
    ) -> None:
        answer = solve_tiny(name, share=0.1, backend="none", algorithms=(), kv_cache_scheme=kv)
        plan = max(answer.alternatives, key=lambda item: len(item.scheme_shares))
        assert plan.footprint is not None
        model = quantized(tiny_config(name), config_of(plan, name), quark)
        sizes = exported(model, tmp_path, quark)
        # A scale for each layer that feeds an fp8 cache is all that the cache adds to a checkpoint.
        scales = sum(size for tensor, size in sizes.items() if tensor.endswith(".output_scale"))
        assert sum(sizes.values()) - scales == plan.footprint.weights_bytes
        assert bool(scales) == (kv == "fp8")
