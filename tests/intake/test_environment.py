"""The machine as Quark's preflight found it, and the hardware profile that it means."""

import json
from pathlib import Path

import pytest

from solver.catalog import Catalog
from solver.errors import BadInputError, MissingError
from solver.intake.environment import hardware_from_environment


def context(folder: Path, **hardware: object) -> Path:
    """Write an `env_context.json` as Quark's preflight does, with these facts of the accelerator."""
    path = folder / "env_context.json"
    facts = {"accelerator": "amd-rocm", "gpu_count": 8, "memory_gb": 192, **hardware}
    environment = {"os": "linux", "python": "3.13", "containerized": False}
    path.write_text(json.dumps({"environment": environment, "hardware": facts}), encoding="utf-8")
    return path


class TestFound:
    def test_every_title_means_its_profile(self, tmp_path: Path, catalog: Catalog) -> None:
        for hardware in catalog.hardware:
            path = context(tmp_path, gpu_model=hardware.title)
            assert hardware_from_environment(path, catalog) is hardware

    def test_the_example_of_quark_means_a_profile(self, tmp_path: Path, catalog: Catalog) -> None:
        path = context(tmp_path, accelerator="nvidia-cuda", cuda_version="12.6", gpu_count=1, gpu_model="RTX 4090")
        assert hardware_from_environment(path, catalog).name == "rtx4090"

    @pytest.mark.parametrize(
        ("name", "profile"),
        [
            ("AMD Instinct MI300X", "mi300x"),
            ("AMD Instinct MI300X OAM", "mi300x"),
            ("AMD Instinct MI300X VF", "mi300x"),
            ("AMD Instinct MI325X", "mi325x"),
            ("AMD Instinct MI355X", "mi355x"),
            ("AMD Instinct MI250X/MI250", None),
            ("NVIDIA A100-SXM4-80GB", "a100_80"),
            ("NVIDIA A100-SXM4-40GB", "a100_40"),
            ("NVIDIA H100 80GB HBM3", "h100_sxm"),
            ("NVIDIA H100 PCIe", "h100_pcie"),
            ("NVIDIA H200", "h200_sxm"),
            ("NVIDIA B200", "b200"),
            ("NVIDIA L40S", "l40s"),
            ("NVIDIA L4", "l4"),
            ("Tesla T4", "t4"),
            ("Tesla V100-SXM2-32GB", "v100_sxm_32"),
            ("NVIDIA GeForce RTX 4090", "rtx4090"),
            ("NVIDIA GeForce RTX 5090", "rtx5090"),
            ("NVIDIA RTX 6000 Ada Generation", "rtx6000_ada"),
        ],
    )
    def test_names_that_drivers_report_mean_a_profile(
        self, name: str, profile: str | None, tmp_path: Path, catalog: Catalog
    ) -> None:
        path = context(tmp_path, gpu_model=name)
        if profile is None:
            with pytest.raises(BadInputError):
                hardware_from_environment(path, catalog)
        else:
            assert hardware_from_environment(path, catalog).name == profile


class TestNotFound:
    def test_file_is_missing(self, tmp_path: Path, catalog: Catalog) -> None:
        with pytest.raises(MissingError) as caught:
            hardware_from_environment(tmp_path / "env_context.json", catalog)
        assert "--hardware" in str(caught.value)

    def test_accelerator_is_unknown_but_its_architecture_is_not(self, tmp_path: Path, catalog: Catalog) -> None:
        path = context(tmp_path, gpu_model="AMD Instinct MI399X", gpu_arch="gfx950")
        with pytest.raises(BadInputError) as caught:
            hardware_from_environment(path, catalog)
        assert "MI399X" in str(caught.value)
        assert "mi350x, mi355x" in str(caught.value)

    @pytest.mark.parametrize("facts", [{}, {"gpu_model": None}, {"gpu_model": ""}, {"accelerator": "cpu"}])
    def test_accelerator_is_not_named(self, facts: dict[str, object], tmp_path: Path, catalog: Catalog) -> None:
        with pytest.raises(BadInputError) as caught:
            hardware_from_environment(context(tmp_path, **facts), catalog)
        assert "--hardware" in str(caught.value)

    @pytest.mark.parametrize(
        "content",
        [b"", b"{", b"[]", b"null", b"{}", b"\xff", b'{"environment": {}, "hardware": {"accelerator": "tpu"}}'],
    )
    def test_file_is_of_another_form(self, content: bytes, tmp_path: Path, catalog: Catalog) -> None:
        path = tmp_path / "env_context.json"
        path.write_bytes(content)
        with pytest.raises(BadInputError) as caught:
            hardware_from_environment(path, catalog)
        assert caught.value.where == str(path)
        assert "\n" not in str(caught.value)
