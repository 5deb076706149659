"""What a model is made of."""

from pathlib import Path

from solver.catalog import Catalog
from solver.intake.analysis import ModelAnalysis
from solver.intake.analyze import analyze_source
from solver.intake.cache import cache_path, cached_analysis, keep_analysis
from solver.intake.read import complete_analysis, is_analysis, load_analysis
from solver.intake.shipped import shipped_analysis
from solver.intake.source import find_source


def analyze(
    model: str,
    *,
    catalog: Catalog | None = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
    cache: bool = True,
) -> ModelAnalysis:
    """Return the analysis of a model from its configuration, and from its checkpoint's headers where they lie there.

    Parameters
    ----------
    model
        A config.json, a checkpoint's folder, a GGUF file, the name of a bundled model, a hub id, or a
        `model_analysis.json`.
    trust_remote_code
        Whether transformers may run code that lies beside the configuration.
    cache
        Whether an analysis that was built before may be read, and a new one kept, in the user's cache folder.

    Raises
    ------
    PlannerError
        If the model cannot be found or built.

    """
    catalog = catalog or Catalog()
    path = Path(model)
    if is_analysis(path):
        return complete_analysis(load_analysis(path), catalog)
    source = find_source(model, catalog, revision=revision)
    if trust_remote_code:
        return analyze_source(source, catalog, trust_remote_code=True)
    # A user's own roles, templates or field names may change what an analysis says.
    shipped = None if catalog.extended else shipped_analysis(source)
    if shipped is not None:
        return shipped
    place = cache_path(source, catalog) if cache else None
    kept = cached_analysis(place) if place is not None else None
    if kept is not None:
        return kept
    analysis = analyze_source(source, catalog)
    if place is not None:
        keep_analysis(analysis, place)
    return analysis
