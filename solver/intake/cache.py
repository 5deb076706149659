"""Analyses that were built before, kept by content: a second run loads neither torch nor transformers."""

import hashlib
import json
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from platformdirs import user_cache_path

from solver.catalog import Catalog
from solver.errors import PlannerError
from solver.files import write_atomic
from solver.intake.analysis import ModelAnalysis
from solver.intake.source import SIDE_QUANT_CONFIG, ModelSource
from solver.version import __version__

_APPLICATION = "quant-plan-solver"


def _version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _side_file(source: ModelSource) -> str | None:
    path = source.folder / SIDE_QUANT_CONFIG if source.folder is not None else None
    with suppress(OSError):
        if path is not None and path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
    return None


def _checkpoint_files(source: ModelSource) -> list[tuple[str, int, int]]:
    """Return name, size and time of change of the files whose headers an analysis reads."""
    if source.gguf is not None:
        files = list(source.gguf.parts)
    elif source.folder is not None:
        files = [*source.folder.glob("*.safetensors"), *source.folder.glob("*.safetensors.index.json")]
    else:
        files = []
    found = []
    for path in sorted(files):
        with suppress(OSError):
            status = path.stat()
            found.append((path.name, status.st_size, status.st_mtime_ns))
    return found


def cache_path(source: ModelSource, catalog: Catalog) -> Path:
    """Return where the analysis of a configuration is kept: its name is a hash of all that it depends on.

    That is the configuration, the files beside it, the profiles, and the versions of this tool and of what builds
    the model. The folder is the user's cache folder (`platformdirs`).
    """
    content = {
        "name": source.name,
        "config": source.config_sha256,
        "side_file": _side_file(source),
        "checkpoint": _checkpoint_files(source),
        "revision": source.revision,
        "profiles": catalog.fingerprint,
        "versions": [__version__, *map(_version_of, ("transformers", "torch", "gguf"))],
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return user_cache_path(_APPLICATION, appauthor=False) / "analyses" / f"{digest}.json"


def cached_analysis(path: Path) -> ModelAnalysis | None:
    """Return the analysis that is kept at a path; None if there is none, or none that can be read."""
    try:
        return ModelAnalysis.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # of pydantic too
        return None


def keep_analysis(analysis: ModelAnalysis, path: Path) -> None:
    """Keep an analysis; a folder that cannot be written is no error, the next run builds again."""
    with suppress(OSError, PlannerError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, json.dumps(analysis.document(), separators=(",", ":"), ensure_ascii=False) + "\n")
