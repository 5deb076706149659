"""The bundled profiles: all load, every number has its unit and source, and no name means two things."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from solver.catalog import Catalog
from solver.catalog.base import Band, Quantity
from solver.catalog.paths import PROFILES_DIR
from solver.catalog.section import Section, canonical

SECTIONS = (
    "schemes",
    "kv_schemes",
    "algorithms",
    "templates",
    "hardware",
    "backends",
    "sensitivities",
    "stored_formats",
    "translations",
    "rules",
    "defects",
    "goals",
    "models",
)
FOLDERS = {"sensitivities": "sensitivity"}
SINGLES = {
    "roles.yaml",
    "config_fields.yaml",
    "checkpoint_names.yaml",
    "mtp.yaml",
    "caches.yaml",
    "stored_tensors.yaml",
    "guide.yaml",
}


def section(catalog: Catalog, name: str) -> Section[Any]:
    found: Section[Any] = getattr(catalog, name)
    return found


def quantities(value: object, path: str) -> Iterator[tuple[str, Quantity]]:
    """Yield all numbers with a unit inside a profile, with the path of their fields."""
    if isinstance(value, Quantity):
        yield path, value
    elif isinstance(value, BaseModel):
        for field, inner in value:
            yield from quantities(inner, f"{path}.{field}")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from quantities(inner, f"{path}.{key}")
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):
            yield from quantities(inner, f"{path}.{index}")


def all_quantities(catalog: Catalog) -> list[tuple[str, Quantity]]:
    return [
        item
        for name in SECTIONS
        for entry in section(catalog, name)
        for item in quantities(entry, f"{name}.{getattr(entry, 'name', '')}")
    ]


class TestEveryFile:
    def test_belongs_to_a_part_of_the_catalogue_that_reads_it(self, catalog: Catalog) -> None:
        folders = {FOLDERS.get(name, name) for name in SECTIONS}
        for path in PROFILES_DIR.rglob("*"):
            relative = path.relative_to(PROFILES_DIR)
            if path.suffix == ".yaml":
                assert relative.parts[0] in folders or relative.as_posix() in SINGLES, path
            elif path.is_file():
                assert path.name.endswith(".analysis.json"), path
                assert path.with_name(path.name.replace(".analysis.json", ".yaml")).is_file(), path

    @pytest.mark.parametrize("name", SECTIONS)
    def test_loads(self, catalog: Catalog, name: str) -> None:
        files = list((PROFILES_DIR / FOLDERS.get(name, name)).glob("*.yaml"))
        assert files
        assert len(list(section(catalog, name))) == len(section(catalog, name)) == len(files)

    def test_of_the_single_ones_loads(self, catalog: Catalog) -> None:
        assert catalog.roles.roles
        assert catalog.config_fields.context
        assert catalog.checkpoint_names.prefixes
        assert catalog.mtp.rules
        assert catalog.cache_fields.latent.rank
        causes = [cause.name for cause in catalog.stored_tensors.causes]
        assert len(causes) == len(set(causes)) > 1

    @pytest.mark.parametrize("name", SECTIONS)
    def test_is_found_by_its_own_name(self, catalog: Catalog, name: str) -> None:
        part = section(catalog, name)
        key = "model_type" if name in {"templates", "translations"} else "name"
        for entry in part:
            assert part.get(getattr(entry, key)) is entry


class TestEveryNumber:
    def test_with_a_unit_names_its_source(self, catalog: Catalog) -> None:
        found = all_quantities(catalog)
        assert len(found) > 200
        for path, quantity in found:
            assert quantity.unit, path
            assert len(quantity.source.strip()) >= 3, path

    def test_is_finite_and_not_negative(self, catalog: Catalog) -> None:
        for path, quantity in all_quantities(catalog):
            assert 0 <= quantity.value < float("inf"), path

    def test_with_two_ends_lies_between_them(self, catalog: Catalog) -> None:
        bands = [(path, item) for path, item in all_quantities(catalog) if isinstance(item, Band)]
        assert bands
        for path, band in bands:
            assert band.low <= band.value <= band.high, path

    @pytest.mark.parametrize(
        ("field", "unit"),
        [
            (".memory", "B"),
            (".bandwidth", "B/s"),
            (".peak_flops", "FLOP/s"),
            (".sustained_flops", "FLOP/s"),
            (".memory_fraction", "1"),
            (".bandwidth_fraction", "1"),
            (".kv_block_tokens", "tokens"),
            (".max_batched_tokens", "tokens"),
            (".non_torch", "B"),
            (".graphs", "B"),
            (".total", "nat"),
        ],
    )
    def test_has_the_unit_of_its_field(self, catalog: Catalog, field: str, unit: str) -> None:
        found = [item for path, item in all_quantities(catalog) if f"{path}.".count(f"{field}.")]
        assert found
        assert {item.unit for item in found} == {unit}


class TestNames:
    @pytest.mark.parametrize("name", SECTIONS)
    def test_aliases_and_titles_mean_one_entry_of_their_section(self, catalog: Catalog, name: str) -> None:
        owners: dict[str, set[str]] = defaultdict(set)
        for entry in section(catalog, name):
            key = getattr(entry, "name", None) or entry.model_type
            for spelling in (key, getattr(entry, "title", None), *getattr(entry, "aliases", ())):
                if spelling:
                    owners[canonical(spelling)].add(key)
        assert {spelling: keys for spelling, keys in owners.items() if len(keys) > 1} == {}

    @pytest.mark.parametrize("name", SECTIONS)
    def test_of_files_mean_the_entry_inside(self, catalog: Catalog, name: str) -> None:
        part = section(catalog, name)
        for path in (PROFILES_DIR / FOLDERS.get(name, name)).glob("*.yaml"):
            entry = part.get(path.stem)
            key = getattr(entry, "name", None) or entry.model_type
            assert canonical(path.stem) == canonical(key), path.name


class TestReferences:
    def test_of_hardware_name_a_backend(self, catalog: Catalog) -> None:
        for hardware in catalog.hardware:
            assert catalog.backends.get(hardware.default_backend).name == hardware.default_backend, hardware.name

    def test_of_backends_name_schemes_roles_and_classes_of_hardware(self, catalog: Catalog) -> None:
        schemes = {scheme.name for scheme in catalog.schemes} | {"*"}
        roles = {role.name for role in catalog.roles.roles}
        classes = {item.kernel_class for item in catalog.hardware if item.kernel_class} | {"*"}
        for backend in catalog.backends:
            for row in backend.support:
                assert set(row.schemes) <= schemes, backend.name
                assert set(row.hardware) <= classes, backend.name
            assert set(backend.kv_cache_fp8) <= classes, backend.name
            further = {role for row in backend.native_only_in for role in row.roles}
            assert further <= roles, backend.name
            assert set(backend.native_only_roles) | set(backend.dequantized_roles) <= roles, backend.name
            assert {role for group in backend.fused_groups for role in group.roles} <= roles, backend.name

    def test_of_algorithms_name_families_of_schemes(self, catalog: Catalog) -> None:
        families = {scheme.family for scheme in catalog.schemes}
        for algorithm in catalog.algorithms:
            assert set(algorithm.fits) | set(algorithm.breaks) | set(algorithm.gain) <= families, algorithm.name
            assert not set(algorithm.fits) & set(algorithm.breaks), algorithm.name

    def test_of_templates_name_algorithms(self, catalog: Catalog) -> None:
        algorithms = {algorithm.name for algorithm in catalog.algorithms}
        for template in catalog.templates:
            assert set(template.algorithms) <= algorithms, template.model_type

    def test_of_priors_name_every_role_and_only_known_schemes(self, catalog: Catalog) -> None:
        roles = {role.name for role in catalog.roles.roles}
        activations = {scheme.name for scheme in catalog.schemes if scheme.usable and not scheme.weight_only}
        for prior in catalog.sensitivities:
            assert set(prior.roles) == roles
            assert {role for part in prior.depth for role in part.roles} <= roles
            assert set(prior.activation_scale) == activations

    def test_of_spoiled_neighbours_name_families(self, catalog: Catalog) -> None:
        families = {scheme.family for scheme in catalog.schemes}
        for scheme in catalog.schemes:
            assert set(scheme.spoils_as_global) <= families, scheme.name
