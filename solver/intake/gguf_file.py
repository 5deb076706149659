"""Reads the header of a GGUF file: its facts, and the name, type, shape and bytes of each tensor."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from solver.errors import BadInputError, MissingError
from solver.intake.tensors import Checkpoint, TensorInfo

SUFFIX = ".gguf"
_LONG = 256
"""Arrays of more items than this are vocabularies: they are skipped, and only their length is known."""

_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
_MEND = "Download the file again: it is damaged, or not all of it has arrived."


@dataclass(frozen=True, slots=True)
class GgufFile:
    """What the header of a GGUF file says, all its parts taken together.

    `facts` holds the metadata by key; of a long array it holds the number of items.
    """

    path: Path
    parts: tuple[Path, ...]
    facts: dict[str, Any]
    checkpoint: Checkpoint

    @property
    def architecture(self) -> str:
        """Llama.cpp's name of the architecture."""
        return str(self.facts["general.architecture"])

    @property
    def file_type(self) -> str | None:
        """The name of the mix of types, as llama.cpp gives it: `Q4_K_M`."""
        from gguf import LlamaFileType

        stated = self.facts.get("general.file_type")
        known = {int(item): item.name for item in LlamaFileType}
        name = known.get(stated) if isinstance(stated, int) else None
        return None if name is None else name.removeprefix("MOSTLY_").removeprefix("ALL_")

    @property
    def types(self) -> dict[str, float]:
        """The share of each type in the elements, the greatest first."""
        elements: dict[str, int] = {}
        for tensor in self.checkpoint.tensors:
            elements[str(tensor.dtype)] = elements.get(str(tensor.dtype), 0) + (tensor.elements or 0)
        ordered = sorted(elements, key=lambda name: (-elements[name], name))
        return {name: elements[name] / self.checkpoint.elements for name in ordered}


@cache
def _reader_class() -> Any:
    """Return gguf's reader, which makes arrays of each item of an array, made to skip long ones.

    A vocabulary of 262,144 tokens takes it half a minute otherwise.
    """
    from gguf import GGUFReader, GGUFValueType

    class HeaderReader(GGUFReader):  # type: ignore[misc]
        def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
            if raw_type != GGUFValueType.ARRAY:
                return super()._get_field_parts(orig_offs, raw_type)
            item, count = self._get(orig_offs, "uint32"), self._get(orig_offs + 4, "uint64")
            kind, length = GGUFValueType(item[0]), int(count[0])
            if length <= _LONG or kind is GGUFValueType.ARRAY:
                return super()._get_field_parts(orig_offs, raw_type)
            end = orig_offs + 12
            if kind is GGUFValueType.STRING:
                end = self._after_strings(end, length)
            else:
                end += length * self._get(end, self.gguf_scalar_to_np[kind]).itemsize
            return end - orig_offs, [item, count], [], [GGUFValueType.ARRAY, kind]

        def _after_strings(self, offset: int, count: int) -> int:
            content = memoryview(self.data)
            order: Literal["big", "little"] = "big" if self.endianess == 1 else "little"
            for _ in range(count):
                offset += 8 + int.from_bytes(content[offset : offset + 8], order)
                if offset > len(content):
                    raise ValueError("the file ends within its metadata")
            return offset

    return HeaderReader


def _fact(field: Any) -> Any:
    from gguf import GGUFValueType

    if field.types and field.types[0] is GGUFValueType.ARRAY and not field.data:
        # parts: length of the key, key, type, type of the items, number of items
        return int(field.parts[4][0])
    return field.contents()


def _read_part(path: Path) -> tuple[dict[str, Any], list[TensorInfo]]:
    try:
        from gguf import GGML_QUANT_SIZES
    except ImportError as error:
        raise MissingError("the package gguf is not installed.", where=str(path), mend="`pip install gguf`.") from error
    try:
        reader = _reader_class()(path)
        facts = {str(name): _fact(field) for name, field in reader.fields.items()}
        tensors = []
        for tensor in reader.tensors:
            items, size = GGML_QUANT_SIZES[tensor.tensor_type]
            shape = tuple(int(extent) for extent in reversed(tensor.shape.tolist()))
            count = int(tensor.n_elements)
            tensors.append(TensorInfo(tensor.name, tensor.tensor_type.name, shape, count // items * size))
    except OSError as error:
        raise BadInputError(f"cannot be read: {error.strerror or error}.", where=str(path)) from error
    except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInputError(f"is no complete GGUF file: {reason}.", where=str(path), mend=_MEND) from error
    return facts, tensors


def _parts(path: Path) -> list[Path]:
    """Return the files of a GGUF file that may be split, in order."""
    match = _PART.search(path.name)
    if match is None:
        return [path]
    stem, count = path.name[: match.start()], int(match[2])
    parts = [path.with_name(f"{stem}-{number:05d}-of-{count:05d}{SUFFIX}") for number in range(1, count + 1)]
    absent = [part.name for part in parts if not part.is_file()]
    if absent:
        raise BadInputError(
            f"is one of {count} files; {absent[0]} is missing.", where=str(path), mend="Download all parts."
        )
    return parts


def read_gguf(path: Path) -> GgufFile:
    """Return the header of a GGUF file; of one that is split into several, all their headers.

    Raises
    ------
    BadInputError
        If a part is missing, or is no whole GGUF file of a model.
    MissingError
        If the package gguf is not installed.

    """
    parts = _parts(path)
    facts: dict[str, Any] = {}
    tensors: dict[str, TensorInfo] = {}
    for part in parts:
        said, found = _read_part(part)
        facts = {**said, **facts}
        for tensor in found:
            if tensor.name in tensors:
                raise BadInputError(f"{tensor.name!r} is stored twice.", where=str(part), mend=_MEND)
            tensors[tensor.name] = tensor
    architecture = facts.get("general.architecture")
    if not isinstance(architecture, str) or not tensors:
        raise BadInputError("names no architecture, or holds no tensor.", where=str(path), mend=_MEND)
    ordered = tuple(tensors[name] for name in sorted(tensors))
    return GgufFile(path, tuple(parts), facts, Checkpoint(str(path), ordered, architecture))


def only_gguf(folder: Path) -> Path | None:
    """Return the one GGUF model in a folder, the first of its parts, or None if there is none.

    Raises
    ------
    BadInputError
        If there are several.

    """
    # Projectors of images lie beside a model, by this prefix.
    found = [path for path in sorted(folder.glob(f"*{SUFFIX}")) if not path.name.startswith("mmproj")]
    models = [path for path in found if (match := _PART.search(path.name)) is None or int(match[1]) == 1]
    if len(models) > 1:
        names = ", ".join(path.name for path in models[:5])
        raise BadInputError(
            f"holds {len(models)} GGUF files: {names}{' ...' if len(models) > 5 else ''}.",
            where=str(folder),
            mend="Name one of them.",
        )
    return models[0] if models else None
