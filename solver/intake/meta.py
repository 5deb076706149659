"""Builds a model on torch's meta device: all its modules and shapes, none of its weights.

torch and transformers are imported here, in `frameworks`, `loading`, `layers`, `parameters` and `built_parts` only,
and not before they are needed.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from solver.errors import BadInputError, NoDecoderError
from solver.intake.frameworks import frameworks
from solver.intake.source import ModelSource

_NOT_FOR_META = ("quantization_config", "_attn_implementation", "attn_implementation")
"""Configuration keys that would make transformers ask for kernels or quantizers."""

_SIZES = frozenset({"hidden_size", "num_hidden_layers"})
"""Fields of which every configuration of a language model states one, under these names or its type's own."""


@dataclass(frozen=True)
class MetaModel:
    """A model on the meta device, its configuration object and the transformers version that built it."""

    model: Any
    config: Any
    transformers_version: str
    parts: tuple[tuple[str, Any], ...] = ()
    """Modules beside the model, with their paths."""

    @property
    def text_config(self) -> Any:
        """The configuration of the language model: the whole one, or its text part."""
        return self.config.get_text_config()

    @cached_property
    def modules(self) -> tuple[tuple[str, Any], ...]:
        """All modules with their paths, each once: torch takes its time to go through those of a large model."""
        beside = (module.named_modules(prefix=path) for path, module in self.parts)
        return (*self.model.named_modules(), *chain.from_iterable(beside))

    @cached_property
    def parameters(self) -> tuple[tuple[str, Any], ...]:
        """All parameters with their names, shared ones once."""
        beside = (module.named_parameters(prefix=path) for path, module in self.parts)
        return (*self.model.named_parameters(), *chain.from_iterable(beside))


def knows_type(model_type: object) -> bool:
    """Return whether transformers has a class for a model type."""
    from transformers import CONFIG_MAPPING

    return isinstance(model_type, str) and model_type in CONFIG_MAPPING


def _config_object(source: ModelSource, transformers: Any, *, trust_remote_code: bool) -> Any:
    content = {key: value for key, value in source.config.items() if key not in _NOT_FOR_META}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(content), encoding="utf-8")
        # Remote code lies beside the real file, and runs only when the user said so and the file asks for it.
        own_code = trust_remote_code and source.folder is not None and "auto_map" in source.config
        location = str(source.folder) if own_code else folder
        try:
            return transformers.AutoConfig.from_pretrained(location, trust_remote_code=trust_remote_code)
        except Exception as error:
            raise _unreadable(source, _reason(error).replace(folder, source.name)) from error


def _reason(error: Exception) -> str:
    # A KeyError of one word is a name that was looked up: its text is that name alone.
    lookup = isinstance(error, KeyError) and " " not in str(error)
    return f"{error} is missing or not known" if lookup else str(error)


def _unreadable(source: ModelSource, reason: str) -> BadInputError:
    model_type = source.config.get("model_type")
    # The first sentence says why; the rest is advice for people who call transformers themselves.
    reason = " ".join(reason.split()).split(". ")[0].rstrip(".")[:300]
    if model_type is None:
        mend = "The file has no `model_type`; is it the config.json of a Hugging Face language model?"
    elif "auto_map" in source.config or "custom code" in reason:
        mend = (
            f"transformers has no own code for model type {model_type!r}. `--trust-remote-code` runs the code in "
            "the model's folder on this machine: read it first."
        )
    else:
        mend = f"Is the installed transformers recent enough for model type {model_type!r}?"
    return BadInputError(f"transformers cannot build this model: {reason}.", where=source.name, mend=mend)


def _keys(content: dict[str, Any]) -> Iterator[str]:
    for key, value in content.items():
        yield key
        if isinstance(value, dict):
            yield from _keys(value)


def _check_decoder(source: ModelSource, config: Any) -> None:
    """Raise where transformers would build something else than the described decoder, and say nothing.

    It builds the decoders of BART and Whisper alone, BERT's encoder with a head for causal language modelling, and
    the first model of a type where no size is stated. Asked before building, which changes the configuration of some.
    """
    try:
        text = config.get_text_config()
        names = {text.attribute_map.get(name, name) for name in _SIZES} | _SIZES
    except (AttributeError, ValueError) as error:
        raise _unreadable(source, str(error)) from error
    for part in (config, text):
        # Files of transformers 4 say `is_decoder: false` of decoders too: only types with both fields may be either.
        either = all(hasattr(type(part), name) for name in ("is_decoder", "add_cross_attention"))
        encodes = either and not part.is_decoder
        if encodes or getattr(part, "is_encoder_decoder", False):
            raise NoDecoderError(config.model_type, where=source.name)
    _check_place(source, config, text)
    if names.isdisjoint(_keys(source.config)):
        raise BadInputError(
            f"states none of {', '.join(sorted(_SIZES))} of a model of type {config.model_type!r}.",
            where=source.name,
            mend="Is it the whole config.json of the model?",
        )


def _check_place(source: ModelSource, config: Any, text: Any) -> None:
    """Raise where a file states sizes of the language model at the top, and transformers reads them in a part only."""
    if text is config or not set(config.sub_configs).isdisjoint(source.config):
        return
    part = next((name for name in config.sub_configs if getattr(config, name, None) is text), "text_config")
    for name in sorted(_SIZES & set(source.config)):
        stated, built = source.config[name], getattr(text, name, None)
        if stated != built:
            raise BadInputError(
                f"{name} {stated!r} stands at the top, where transformers does not read it for model type "
                f"{config.model_type!r}: it would build a model with {built!r}.",
                where=source.name,
                mend=f"Put the fields of the language model into `{part}`, as in the published configuration.",
            )


def _model_class(transformers: Any, config: Any) -> Any:
    """Return the class that `architectures` names, or the one an Auto class would choose.

    The Auto classes alone are no guide: AutoModelForCausalLM drops the vision part of some models silently.
    """
    names = getattr(config, "architectures", None)
    for name in names if isinstance(names, list) else ():
        found = getattr(transformers, str(name), None)
        if isinstance(config, getattr(found, "config_class", None) or ()):
            return found
    autos = [transformers.AutoModelForCausalLM, transformers.AutoModelForImageTextToText]
    for auto in reversed(autos) if "text_config" in config.sub_configs else autos:
        if type(config) in auto._model_mapping:
            return auto._model_mapping[type(config)]
    return None


def _built(transformers: Any, chosen: Any, config: Any, dtype: str, *, trust_remote_code: bool) -> Any:
    import torch

    wanted = getattr(torch, dtype)
    with torch.device("meta"):
        if chosen is not None:
            return chosen._from_config(config, dtype=wanted, attn_implementation="eager")
        return transformers.AutoModelForCausalLM.from_config(
            config, dtype=wanted, trust_remote_code=trust_remote_code, attn_implementation="eager"
        )


def build_on_meta(source: ModelSource, dtype: str, *, trust_remote_code: bool = False) -> MetaModel:
    """Return the model that a configuration describes, with parameters of shape and type only.

    `dtype` is torch's name of the checkpoint's type: configurations that state it in a nested part are built as
    float32 otherwise.

    Raises
    ------
    BadInputError
        If transformers cannot read the configuration or build the model from it, or the model has an encoder.
    MissingError
        If torch or transformers is not installed.

    """
    with frameworks() as transformers:
        config = _config_object(source, transformers, trust_remote_code=trust_remote_code)
        _check_decoder(source, config)
        chosen = _model_class(transformers, config)
        try:
            model = _built(transformers, chosen, config, dtype, trust_remote_code=trust_remote_code)
        except Exception as error:
            raise _unreadable(source, _reason(error)) from error
        return MetaModel(model, config, transformers.__version__)
