"""The fingerprint of a plan's profiles: any change that can change a plan changes it."""

import shutil
from pathlib import Path

import pytest

from solver.catalog import Catalog
from solver.catalog.paths import PROFILES_DIR


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder that holds every bundled profile once more."""
    return Path(shutil.copytree(PROFILES_DIR, tmp_path / "profiles"))


class TestFingerprint:
    def test_is_the_same_in_every_run(self) -> None:
        assert Catalog().fingerprint == Catalog().fingerprint

    def test_changes_with_any_byte_of_any_profile_outside_the_zoo(self, copy: Path) -> None:
        before = Catalog(copy).fingerprint
        paths = [path for path in copy.rglob("*.yaml") if path.relative_to(copy).parts[0] != "models"]
        assert len(paths) > 100
        for path in paths:
            content = path.read_bytes()
            path.write_bytes(content[:-1] + b" \n")
            assert Catalog(copy).fingerprint != before, path.name
            path.write_bytes(content)
        assert Catalog(copy).fingerprint == before

    def test_stays_when_a_model_of_the_zoo_changes(self, copy: Path) -> None:
        before = Catalog(copy).fingerprint
        for path in (copy / "models").glob("*.yaml"):
            path.write_bytes(path.read_bytes() + b"\n")
        assert Catalog(copy).fingerprint == before

    def test_changes_when_a_profile_is_added_renamed_or_removed(self, copy: Path) -> None:
        seen = [Catalog(copy).fingerprint]
        h20 = copy / "hardware" / "h20.yaml"
        shutil.copy(h20, h20.with_name("h21.yaml"))
        seen.append(Catalog(copy).fingerprint)
        h20.unlink()
        seen.append(Catalog(copy).fingerprint)
        h20.with_name("h21.yaml").unlink()
        seen.append(Catalog(copy).fingerprint)
        assert len(set(seen)) == len(seen)

    def test_of_an_empty_folder_on_top_is_that_of_the_bundled_profiles(self, tmp_path: Path) -> None:
        assert Catalog(tmp_path).fingerprint == Catalog().fingerprint
