"""What is built for a configuration: its own type, or the one that a translation reads it as."""

from dataclasses import dataclass
from typing import Any

from solver.catalog import Catalog
from solver.catalog.built_part import BuiltPart
from solver.catalog.translation import Translation
from solver.errors import BadInputError, NoDecoderError
from solver.intake.record import DTYPE_BYTES
from solver.intake.source import ModelSource
from solver.intake.translate import find_translation, translated


@dataclass(frozen=True, slots=True)
class Reading:
    """A configuration as it is built: the model's own, or the one that a translation makes of it."""

    source: ModelSource
    model_type: str
    translation: Translation | None
    parts: tuple[tuple[BuiltPart, dict[str, Any]], ...] = ()
    """Parts to be built beside it, with their configurations."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What the model has and is not built."""
        return () if self.translation is None or self.parts else self.translation.missing


def read_configuration(source: ModelSource, catalog: Catalog, *, trust_remote_code: bool) -> Reading:
    """Return what is to be built for a configuration.

    Raises
    ------
    BadInputError
        If its type is no name, or has a translation that the configuration does not fit.
    NoDecoderError
        If it says that it is an encoder with a decoder.

    """
    stated = source.config.get("model_type")
    if source.config.get("is_encoder_decoder"):
        raise NoDecoderError(stated, where=source.name)
    if stated is not None and not isinstance(stated, str):
        raise BadInputError(
            f"model_type {stated!r} is no name.",
            where=source.name,
            mend="The config.json of a Hugging Face model names its type, for example llama.",
        )
    model_type = str(stated)
    own_code = trust_remote_code and source.folder is not None and "auto_map" in source.config
    translation = None if own_code else find_translation(source, catalog)
    if translation is None:
        return Reading(source, model_type, None)
    parts = tuple((part, part.configured(source.config)) for part in translation.parts_of(source.config))
    return Reading(translated(source, translation), model_type, translation, parts)


def stated_dtype(source: ModelSource) -> str | None:
    """Return the checkpoint's type: stated at the top, or only in the text part.

    Raises
    ------
    BadInputError
        If something is stated that is no type.
    """
    text = source.config.get("text_config")
    for part in (source.config, text if isinstance(text, dict) else {}):
        for key in ("dtype", "torch_dtype"):
            stated = part.get(key)
            if isinstance(stated, str) and stated in DTYPE_BYTES:
                return stated
            if stated not in (None, "auto"):
                raise BadInputError(
                    f"{key} {stated!r} is no type.", where=source.name, mend=f"Known are {', '.join(DTYPE_BYTES)}."
                )
    return None
