"""Reads `model_analysis.json`, ours or Quark's, and completes it where the configuration is reachable."""

import json
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from solver.catalog import Catalog
from solver.errors import BadInputError, MissingError
from solver.intake.analysis import ModelAnalysis
from solver.intake.analyze import analyze_source
from solver.intake.json_file import small_object
from solver.intake.shipped import shipped_analysis
from solver.intake.source import find_source

ANALYSIS_NAME = "model_analysis.json"
_MEND = "`solve analyze MODEL -o model_analysis.json` writes one."


def is_analysis(path: Path) -> bool:
    """Return whether a file is a model analysis rather than a configuration, by its name or its content."""
    if path.name == ANALYSIS_NAME:
        with suppress(OSError):
            return path.is_file()
        return False
    return "analysis_status" in (small_object(path) or {})


def load_analysis(path: Path) -> ModelAnalysis:
    """Return the analysis in a file as it is.

    Raises
    ------
    MissingError
        If there is no such file.
    BadInputError
        If it is no valid analysis; the offending fields are named.

    """
    if not path.is_file():
        raise MissingError("there is no model analysis, and so no plan.", where=str(path), mend=_MEND)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"not valid JSON: {error}.", where=str(path), mend=_MEND) from error
    try:
        return ModelAnalysis.model_validate(content)
    except ValidationError as error:
        fields = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'document'}: {item['msg']}"
            for item in error.errors(include_url=False)
        )
        raise BadInputError(f"no valid model analysis: {fields}.", where=str(path), mend=_MEND) from error


def complete_analysis(analysis: ModelAnalysis, catalog: Catalog) -> ModelAnalysis:
    """Return the analysis with an inventory, or marked partial with what is missing.

    An analysis from Quark's own intake has no inventory: it is built from the configuration that
    `model.model_path` names, where that can be found without the network.
    """
    if analysis.inventory is not None:
        known = {role.name for role in catalog.roles.roles}
        unknown = sorted({family.role for family in analysis.inventory.layers} - known)
        if unknown:
            raise BadInputError(
                f"no role is called {' or '.join(unknown)}.",
                where=f"analysis of {analysis.model.model_path}",
                mend=_MEND,
            )
        return analysis
    try:
        source = find_source(analysis.model.model_path, catalog, local_only=True)
        shipped = None if catalog.extended else shipped_analysis(source)
        completed = shipped or analyze_source(source, catalog)
    except (BadInputError, MissingError) as error:
        return analysis.model_copy(
            update={
                "analysis_status": "partial",
                "missing": (
                    "layer names and shapes",
                    "types and bytes of the parameters",
                    "geometry of the KV cache",
                    f"the configuration behind model_path ({error.what})",
                ),
            }
        )
    return completed.model_copy(update={"risks": (*analysis.risks, *completed.risks)})
