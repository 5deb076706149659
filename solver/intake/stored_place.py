"""The four places that may say that a checkpoint is quantized."""

from collections.abc import Mapping
from typing import Any

from solver.errors import BadInputError
from solver.intake.json_file import read_json
from solver.intake.source import SIDE_QUANT_CONFIG, ModelSource
from solver.intake.stored_statements import MLX, MODELOPT

_KEYS = ("quantization_config", "quantization")


def _side_block(source: ModelSource) -> dict[str, Any] | None:
    path = source.folder / SIDE_QUANT_CONFIG if source.folder is not None else None
    if path is None or not path.is_file():
        return None
    try:
        content = read_json(path)
    except (OSError, ValueError, RecursionError) as error:
        raise BadInputError(
            f"not valid JSON: {error}.",
            where=str(path),
            mend="It says how the checkpoint is quantized: take it from where the checkpoint came from.",
        ) from error
    block = content.get("quantization") if isinstance(content, dict) else None
    return {"quant_method": MODELOPT, **block} if isinstance(block, dict) else {}


def text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the configuration of the language part, empty where the model has none of its own."""
    text = config.get("text_config")
    return text if isinstance(text, dict) else {}


def find_block(source: ModelSource) -> tuple[Any, str] | None:
    """Return the first block of quantization settings, and the place where it stands."""
    for prefix, part in (("", source.config), ("text_config.", text_config(source.config))):
        for key in _KEYS:
            if part.get(key):
                return part[key], f"{prefix}{key}"
    side = _side_block(source)
    return None if side is None else (side, SIDE_QUANT_CONFIG)


def with_method(block: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with a method: MLX names none, and is told by its fields."""
    if block.keys() & {"quant_method", "quant_algo", "config_groups"} or not block.keys() >= {"bits", "group_size"}:
        return block
    return {"quant_method": MLX, "mode": "affine", **block}
