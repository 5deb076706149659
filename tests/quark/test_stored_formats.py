"""Quark's own exports are recognized by the configuration that Quark writes, with the storage of their scheme."""

import json

import pytest

from solver.catalog import Catalog
from solver.catalog.scheme import Scheme
from solver.intake.source import ModelSource
from solver.intake.stored import stored_quantization

quark = pytest.importorskip("quark.torch")

SCHEMES = [scheme for scheme in Catalog().schemes if scheme.not_exportable is None]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_a_scheme_s_configuration_tells_its_storage(scheme: Scheme, catalog: Catalog) -> None:
    written = quark.LLMTemplate.get("llama").get_config(scheme=scheme.name, kv_cache_scheme="fp8").to_dict()
    block = {**json.loads(json.dumps(written)), "quant_method": "quark"}
    found = stored_quantization(ModelSource("model", "file", {"quantization_config": block}), catalog)
    assert found is not None
    assert found.unknown == ()
    assert found.name_of("lm_head", "head") is None
    stored = found.format_of("model.layers.0.mlp.down_proj", "dense")
    assert stored is not None
    tensors = catalog.storage_of(stored)
    for shape in ((4096, 1024), (1536, 576)):
        sizes = [sum(tensor.size_bytes(*shape, 2) for tensor in found) for found in (tensors, scheme.storage)]
        assert sizes[0] == sizes[1]
