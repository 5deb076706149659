"""The model as Quark's commands would load it, on torch's meta device: all modules at their full depth, no weights."""

from typing import Any

from solver.catalog import Catalog
from solver.errors import MissingError, PlannerError
from solver.intake.meta import build_on_meta
from solver.intake.reading import read_configuration
from solver.intake.source import find_source
from solver.quark.installed import quark_torch, quiet, reason_of

_DTYPE = "bfloat16"


class NoModelError(MissingError):
    """The modules of a model are not known here: nothing that Quark would do to them can be checked."""


def _built(model: str, catalog: Catalog, *, revision: str | None, trust_remote_code: bool) -> Any:
    source = find_source(model, catalog, revision=revision)
    reading = read_configuration(source, catalog, trust_remote_code=trust_remote_code)
    if reading.translation is not None:
        raise NoModelError(f"transformers has no class for {reading.model_type}")
    return build_on_meta(reading.source, _DTYPE, trust_remote_code=trust_remote_code).model


def prepared_model(model: str, catalog: Catalog, *, revision: str | None, trust_remote_code: bool) -> Any:
    """Return the model of a configuration after the preparation that Quark's commands give every model.

    Raises
    ------
    NoModelError
        If transformers has no class of its own for it, or Quark cannot prepare it.
    """
    try:
        built = _built(model, catalog, revision=revision, trust_remote_code=trust_remote_code)
    except PlannerError as error:
        raise NoModelError(error.what.rstrip(".")) from error
    try:
        with quiet():
            # Fused experts become one linear each; what `reload` leaves out is the copying of weights.
            quark_torch().utils.llm.preprocess_for_quantization(built, reload=True)
    except Exception as error:
        raise NoModelError(f"Quark stops while it prepares the model: {reason_of(error)}") from error
    return built
