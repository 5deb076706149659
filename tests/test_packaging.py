"""A wheel built from the tree and installed alone answers as the tree does."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
QUESTION = ["--model", "Qwen/Qwen3-8B", "--budget", "12GB", "--hardware", "mi300x", "--json"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment that holds the wheel, and sees the dependencies of this one but not its packages."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", wheel], check=True)
    (site,) = folder.glob("lib/*/site-packages")
    # A path in a .pth file is searched last, and the .pth files found there (of editable installs) are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder


def test_profiles_and_schemas_are_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("profiles", "schemas"):
        expected = {
            f"solver/_data/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / folder).rglob("*") if path.is_file()
        }
        assert expected <= names
    assert not [name for name in names if name.startswith(("tests/", "bench/"))]


def test_the_installed_wheel_gives_the_same_answer(environment: Path, tmp_path: Path) -> None:
    where = "import solver; print(solver.__file__)"
    command = [environment / "bin" / "python", "-c", where]
    found = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert str(environment) in found.stdout
    answers = [
        subprocess.run([program, *QUESTION], check=True, capture_output=True, cwd=tmp_path).stdout
        for program in (environment / "bin" / "solve", Path(sys.executable).with_name("solve"))
    ]
    assert answers[0] == answers[1]
