"""The machine as Quark's preflight found it, and the hardware profile that it means."""

import json
from pathlib import Path

import pytest

from solver.catalog import Catalog
from solver.catalog.hardware import Hardware
from solver.errors import BadInputError, MissingError
from solver.intake.contradictions import machine_notes
from solver.intake.environment import hardware_of, read_environment


def context(folder: Path, **hardware: object) -> Path:
    """Write an `env_context.json` as Quark's preflight does, with these facts of the accelerator."""
    path = folder / "env_context.json"
    facts = {"accelerator": "amd-rocm", "gpu_count": 8, "memory_gb": 192, **hardware}
    environment = {"os": "linux", "python": "3.13", "containerized": False}
    path.write_text(json.dumps({"environment": environment, "hardware": facts}), encoding="utf-8")
    return path


def hardware_from_environment(path: Path, catalog: Catalog) -> Hardware:
    return hardware_of(read_environment(path), catalog, where=str(path))


def notes(path: Path, catalog: Catalog, hardware: str, *, devices: int = 1, asked: bool = False) -> list[str]:
    """Return what is told of a machine under a plan for this hardware."""
    planned = catalog.hardware.get(hardware)
    return list(machine_notes(read_environment(path), catalog, planned, devices=devices, asked=asked))


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

    @pytest.mark.parametrize(
        ("facts", "profile"),
        [
            ({"gpu_arch": "gfx942", "memory_gb": 256}, "mi325x"),
            ({"gpu_arch": "gfx942:sramecc+:xnack-", "memory_gb": 128}, "mi300a"),
            ({"gpu_arch": "gfx942", "memory_gb": 137.4}, "mi300a"),
            ({"gpu_arch": "gfx908", "memory_gb": 31.98}, "mi100"),
            ({"gpu_arch": "sm_80", "memory_gb": 80}, "a100_80"),
            ({"gpu_arch": "8.0", "memory_gb": 39.4}, "a100_40"),
            ({"gpu_arch": "sm80", "memory_gb": 42.4, "gpu_model": "unknown"}, "a100_40"),
            ({"gpu_arch": "gfx942", "memory_gb": 256, "gpu_model": "Aqua Vanjaram"}, "mi325x"),
        ],
    )
    def test_architecture_and_memory_mean_a_profile(
        self, facts: dict[str, object], profile: str, tmp_path: Path, catalog: Catalog
    ) -> None:
        path = context(tmp_path, **facts)
        assert hardware_from_environment(path, catalog).name == profile
        (note,) = [note for note in notes(path, catalog, profile) if "accelerator amd-rocm" not in note]
        assert "no other accelerator known here" in note
        assert "--hardware" in note

    def test_a_processor_is_told_by_its_model(self, tmp_path: Path, catalog: Catalog) -> None:
        path = context(tmp_path, accelerator="cpu", cpu_model="EPYC 9004", gpu_count=0, memory_gb=None)
        assert hardware_from_environment(path, catalog).name == "epyc_genoa"
        assert notes(path, catalog, "epyc_genoa") == []


class TestContradictions:
    def test_are_none_where_every_device_is_described_as_its_profile_has_it(
        self, tmp_path: Path, catalog: Catalog
    ) -> None:
        for hardware in catalog.hardware:
            size = None if hardware.memory is None else hardware.memory.value
            for unit in (10**9, 2**30):
                path = context(
                    tmp_path,
                    accelerator=hardware.accelerator if hardware.accelerator != "intel-gaudi" else "unknown",
                    gpu_model=hardware.title,
                    gpu_arch=hardware.isa,
                    memory_gb=None if size is None else size / unit,
                )
                assert notes(path, catalog, hardware.name, devices=8) == []

    def test_are_none_with_the_memory_that_vendors_name(self, tmp_path: Path, catalog: Catalog) -> None:
        for hardware in catalog.hardware:
            marketed = (hardware.memory_marketed or "").partition(" GB")[0]
            # A card of two dies is sold with the memory of both.
            if marketed.isdecimal() and hardware.name not in {"mi250", "mi250x"}:
                path = context(
                    tmp_path, accelerator="unknown", gpu_model=hardware.title, memory_gb=int(marketed), gpu_count=1
                )
                assert notes(path, catalog, hardware.name) == []

    @pytest.mark.parametrize(
        ("facts", "words"),
        [
            ({"accelerator": "nvidia-cuda"}, ("accelerator nvidia-cuda", "amd-rocm")),
            ({"accelerator": "cpu"}, ("accelerator cpu", "amd-rocm")),
            ({"gpu_arch": "gfx950"}, ("gpu_arch gfx950", "gfx942")),
            ({"gpu_arch": "CDNA2"}, ("gpu_arch CDNA2", "gfx942")),
            ({"memory_gb": 64}, ("memory_gb 64", "206.14 GB = 191.98 GiB")),
            ({"memory_gb": 256}, ("memory_gb 256", "206.14 GB = 191.98 GiB")),
        ],
    )
    def test_inside_the_file_are_told(
        self, facts: dict[str, object], words: tuple[str, ...], tmp_path: Path, catalog: Catalog
    ) -> None:
        path = context(tmp_path, **{"gpu_model": "AMD Instinct MI300X", **facts})
        assert hardware_from_environment(path, catalog).name == "mi300x"
        (note,) = notes(path, catalog, "mi300x")
        assert note.startswith("env_context.json contradicts itself")
        assert [word for word in words if word not in note] == []

    def test_between_vendors_are_told_each(self, tmp_path: Path, catalog: Catalog) -> None:
        path = context(tmp_path, gpu_model="NVIDIA H200", gpu_arch="gfx942", memory_gb=192)
        told = notes(path, catalog, "h200_sxm")
        assert [next(word for word in note.split() if "_" in word[1:] and "json" not in word) for note in told[1:]] == [
            "gpu_arch",
            "memory_gb",
        ]
        assert "accelerator amd-rocm" in told[0]

    @pytest.mark.parametrize("arch", ["gfx942", "gfx942:sramecc+:xnack-", "CDNA3", "CDNA 3", "unknown", None])
    def test_are_none_for_other_spellings_of_the_architecture(
        self, arch: str | None, tmp_path: Path, catalog: Catalog
    ) -> None:
        assert notes(context(tmp_path, gpu_model="MI300X", gpu_arch=arch), catalog, "mi300x") == []

    def test_with_the_hardware_asked_for_are_told(self, tmp_path: Path, catalog: Catalog) -> None:
        (note,) = notes(context(tmp_path, gpu_model="AMD Instinct MI300X"), catalog, "mi355x", asked=True)
        assert "planned for AMD Instinct MI355X (--hardware)" in note
        assert "names AMD Instinct MI300X" in note

    def test_of_facts_alone_with_the_hardware_asked_for_are_told(self, tmp_path: Path, catalog: Catalog) -> None:
        path = context(tmp_path, accelerator="nvidia-cuda", gpu_arch="sm_90", memory_gb=80)
        assert ["accelerator" in notes(path, catalog, "mi300x", asked=True)[0]] == [True]
        assert len(notes(path, catalog, "mi300x", asked=True)) == 3
        assert notes(path, catalog, "h100_sxm", asked=True) == []

    @pytest.mark.parametrize(("devices", "count"), [(8, 0), (9, 1)])
    def test_of_more_devices_than_there_are_is_told(
        self, devices: int, count: int, tmp_path: Path, catalog: Catalog
    ) -> None:
        told = notes(context(tmp_path, gpu_model="MI300X"), catalog, "mi300x", devices=devices)
        assert len(told) == count
        assert all("9 devices (--tp)" in note and "counts 8" in note for note in told)


class TestNotFound:
    def test_file_is_missing(self, tmp_path: Path, catalog: Catalog) -> None:
        with pytest.raises(MissingError) as caught:
            hardware_from_environment(tmp_path / "env_context.json", catalog)
        assert "--hardware" in str(caught.value)

    def test_accelerator_is_unknown_but_its_architecture_is_not(self, tmp_path: Path, catalog: Catalog) -> None:
        path = context(tmp_path, gpu_model="AMD Instinct MI399X", gpu_arch="gfx950", memory_gb=288)
        with pytest.raises(BadInputError) as caught:
            hardware_from_environment(path, catalog)
        assert "MI399X" in str(caught.value)
        assert "mi350x, mi355x" in str(caught.value)

    @pytest.mark.parametrize(
        ("facts", "words"),
        [
            ({"gpu_arch": "gfx942", "memory_gb": 192}, "mi300x, mi308x"),
            ({"gpu_arch": "sm_89", "memory_gb": 24}, "l4, rtx4090"),
            ({"gpu_arch": "sm_90", "memory_gb": 80}, "h100_pcie, h100_sxm"),
            ({"gpu_arch": "gfx942", "memory_gb": None}, "mi300a, mi300x, mi308x, mi325x"),
            ({"gpu_arch": "gfx1100", "memory_gb": 20}, "none"),
            ({"accelerator": "unknown"}, "neither a gpu_model nor a gpu_arch (accelerator 'unknown')"),
            ({"accelerator": "cpu", "gpu_count": 0}, "epyc_genoa, epyc_turin, xeon_gnr, xeon_spr"),
            ({"accelerator": "cpu", "cpu_model": "VIA C7"}, "'VIA C7', which is not in the catalogue"),
        ],
    )
    def test_what_is_known_is_said(
        self, facts: dict[str, object], words: str, tmp_path: Path, catalog: Catalog
    ) -> None:
        with pytest.raises(BadInputError) as caught:
            hardware_from_environment(context(tmp_path, **facts), catalog)
        assert words in str(caught.value)
        assert "--hardware" in str(caught.value)

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
