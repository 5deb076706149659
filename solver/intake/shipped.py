"""Analyses that ship with the bundled zoo, so that planning for its models loads neither torch nor transformers.

`python -m solver.intake.shipped` builds them anew from the zoo's configurations; a test holds them equal to a fresh
build on the meta device.
"""

import json
from pathlib import Path

from solver.catalog import Catalog
from solver.catalog.paths import PROFILES_DIR
from solver.intake.analysis import ModelAnalysis
from solver.intake.source import ModelSource

_FOLDER = PROFILES_DIR / "models"


def analysis_path(model: str) -> Path:
    """Return where the analysis of a bundled model lies."""
    return _FOLDER / f"{model.replace('/', '__')}.analysis.json"


def shipped_analysis(source: ModelSource) -> ModelAnalysis | None:
    """Return the analysis that ships for a bundled configuration, or None.

    It is tied to the configuration by hash: one that a user's profiles override is analysed like any other.
    """
    path = analysis_path(source.name)
    if source.kind != "zoo" or not path.is_file():
        return None
    analysis = ModelAnalysis.model_validate_json(path.read_text(encoding="utf-8"))
    return analysis if analysis.model.config_sha256 == source.config_sha256 else None


def build_shipped() -> None:
    """Write the analyses of all bundled models."""
    from solver.intake.analyze import analyze_source

    catalog = Catalog()
    for model in catalog.models:
        source = ModelSource(model.name, "zoo", model.config)
        document = analyze_source(source, catalog).document()
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n"
        analysis_path(model.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    build_shipped()
