"""Known defects of Quark: their versions, and that what plans avoid is what they say."""

import pytest
from pydantic import ValidationError

from solver.catalog import Catalog
from solver.catalog.defect import Defect
from solver.export.targets import TARGETS
from solver.plan.planner import QUARK_VERSION

CATALOG = Catalog()


def of_rule(rule: str) -> list[Defect]:
    return [defect for defect in CATALOG.defects if defect.rule == rule]


def schemes_of(rule: str) -> set[str]:
    return {scheme for defect in of_rule(rule) for scheme in defect.schemes}


@pytest.mark.parametrize("defect", CATALOG.defects, ids=lambda defect: defect.name)
class TestEveryDefect:
    def test_names_what_there_is(self, defect: Defect) -> None:
        assert all(CATALOG.schemes.get(name).name == name for name in defect.schemes)
        assert all(CATALOG.algorithms.get(name).name == name for name in defect.algorithms)
        assert all(CATALOG.templates.get(name).model_type == name for name in defect.model_types)
        assert set(defect.targets) <= set(TARGETS)
        assert defect.rule is None or CATALOG.rules.get(defect.rule).name == defect.rule

    def test_is_one_of_the_version_that_plans_are_made_for(self, defect: Defect) -> None:
        assert defect.affects(QUARK_VERSION)


class TestVersions:
    @pytest.mark.parametrize(
        ("specifier", "version", "affected"),
        [
            ("==0.13", "0.13", True),
            ("==0.13", "0.13.0", True),
            ("==0.13", "0.13.1", False),
            (">=0.13,<0.15", "0.14.1", True),
            (">=0.13,<0.15", "0.15", False),
            (">=0.13", "0.14.0rc1", True),
            ("<0.13", "0.13", False),
        ],
    )
    def test_are_compared_as_python_compares_them(self, specifier: str, version: str, affected: bool) -> None:
        assert next(iter(CATALOG.defects)).model_copy(update={"quark": specifier}).affects(version) is affected

    @pytest.mark.parametrize("specifier", ["0.13", "newest", "=>0.13"])
    def test_that_are_no_specifier_are_refused(self, specifier: str) -> None:
        document = next(iter(CATALOG.defects)).model_dump() | {"quark": specifier}
        with pytest.raises(ValidationError, match="PEP 440"):
            Defect.model_validate(document)

    @pytest.mark.parametrize("change", [{"rule": None, "instead": None}, {"rule": "scheme-is-fit", "instead": "wait"}])
    def test_and_what_is_done_is_said_once(self, change: dict[str, str | None]) -> None:
        with pytest.raises(ValidationError, match="rule"):
            Defect.model_validate(next(iter(CATALOG.defects)).model_dump() | change)


class TestPlansAvoid:
    """The fields that rules read, against the list that people read."""

    def test_what_cannot_be_exported(self) -> None:
        assert {scheme.name for scheme in CATALOG.schemes if scheme.not_exportable} == schemes_of("scheme-exportable")

    def test_what_ruins_a_model(self) -> None:
        unfit = {scheme.name for scheme in CATALOG.schemes if scheme.unfit}
        assert unfit >= schemes_of("scheme-is-fit")

    def test_what_spoils_its_neighbours(self) -> None:
        spoiling = {scheme.name for scheme in CATALOG.schemes if scheme.spoils_as_global}
        assert spoiling == schemes_of("global-scheme-spoils-none")

    def test_groups_that_have_to_divide(self) -> None:
        grouped = {
            scheme.name
            for scheme in CATALOG.schemes
            if scheme.weight.group_size is not None and scheme.in_features_multiple == scheme.weight.group_size
        }
        assert grouped == schemes_of("group-divides-in-features")

    def test_algorithms_that_stop_at_schemes(self) -> None:
        families = {scheme.name: scheme.family for scheme in CATALOG.schemes if scheme.not_exportable is None}
        listed = {
            (algorithm, families[scheme])
            for defect in of_rule("algorithm-runs-with-all-schemes")
            for algorithm in defect.algorithms
            for scheme in defect.schemes
        }
        broken = {
            (algorithm.name, family)
            for algorithm in CATALOG.algorithms
            for family in algorithm.breaks
            if family in families.values()
        }
        assert listed == broken

    def test_algorithms_that_scale_groups(self) -> None:
        scaling = {algorithm.name for algorithm in CATALOG.algorithms if algorithm.scales_together}
        assert scaling == {name for defect in of_rule("algorithm-scales-whole-groups") for name in defect.algorithms}

    def test_algorithms_that_leave_scales_in_float32(self) -> None:
        wide = {algorithm.name for algorithm in CATALOG.algorithms if algorithm.float32_scales}
        assert wide == set(CATALOG.defects.get("gptq-leaves-float32-scales").algorithms)
