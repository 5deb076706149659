"""Figures of one stack that stand in for another's say so."""

import pytest

from solver.catalog import Catalog
from tests.catalog.test_profiles import quantities

OF_ANY_STACK = {".compute_fraction"}
"""A property of devices."""
OF_SEVERAL = {
    ("sglang", ".activations.max_batched_tokens"),
    ("sglang", ".bandwidth_fraction"),
    ("tensorrt_llm", ".bandwidth_fraction"),
}
"""Figures whose source names this stack beside vLLM."""


@pytest.mark.parametrize("name", sorted({backend.name for backend in Catalog().backends} - {"vllm"}))
def test_of_vllm_are_noted_where_they_are_borrowed(name: str, catalog: Catalog) -> None:
    vllm = dict(quantities(catalog.backends.get("vllm"), ""))
    silent = {
        path
        for path, figure in quantities(catalog.backends.get(name), "")
        if path in vllm
        and (figure.value, figure.source) == (vllm[path].value, vllm[path].source)
        and "vLLM" not in (figure.note or "")
        and path not in OF_ANY_STACK
        and (name, path) not in OF_SEVERAL
    }
    assert silent == set()
