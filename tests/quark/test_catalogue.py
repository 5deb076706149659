"""The profiles say of AMD Quark what the installed package does."""

from typing import Any

import pytest

from solver.catalog import Catalog
from solver.catalog.paths import PROFILES_DIR
from solver.catalog.scheme import TensorFormat
from solver.catalog.section import read_yaml

pytestmark = pytest.mark.usefixtures("quark")


def names_in(section: str, key: str = "name") -> list[str]:
    """Return the names of all bundled profiles of one section."""
    return [read_yaml(path)[key] for path in sorted((PROFILES_DIR / section).glob("*.yaml"))]


SCHEMES = names_in("schemes")
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
