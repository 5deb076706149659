"""Reads the headers of a checkpoint: the name, type, shape and bytes of each tensor, and no weights."""

from pathlib import Path

from solver.errors import BadInputError
from solver.intake.json_file import read_json
from solver.intake.tensors import Checkpoint, TensorInfo, tensor_bytes

SINGLE_NAME = "model.safetensors"
INDEX_NAME = "model.safetensors.index.json"
_LFS_POINTER = b"version https://git-lfs"
_MEND_SHARD = "Download the file again: it is damaged, or not all of it has arrived."
_MEND_INDEX = f"Download {INDEX_NAME} again, or remove it to plan from the configuration alone."


def _read_index(path: Path) -> dict[str, str]:
    try:
        content = read_json(path)
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"not valid JSON: {error}.", where=str(path), mend=_MEND_INDEX) from error
    except OSError as error:
        raise BadInputError(f"cannot be read: {error.strerror}.", where=str(path), mend=_MEND_INDEX) from error
    weight_map = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(weight_map, dict) or not weight_map:
        raise BadInputError("has no `weight_map` of tensors to files.", where=str(path), mend=_MEND_INDEX)
    for name, file in weight_map.items():
        if not isinstance(file, str) or not file or Path(file).name != file:
            raise BadInputError(
                f"{name!r} lies in {file!r}, which is no file's name.", where=str(path), mend=_MEND_INDEX
            )
    return weight_map


def _is_there(path: Path) -> bool:
    """Return whether a file has its content: a Git LFS pointer stands for one that was not downloaded."""
    try:
        with path.open("rb") as file:
            return file.read(len(_LFS_POINTER)) != _LFS_POINTER
    except OSError:
        return False


def _read_file(path: Path) -> list[TensorInfo]:
    # safe_open maps the file, reads its header, and checks that the tensors fill the rest; numpy is all it imports.
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
            found = [(name, str(item.get_dtype()), tuple(item.get_shape())) for name, item in slices.items()]
    except (SafetensorError, OSError) as error:
        reason = " ".join(str(error).split())
        raise BadInputError(f"is no complete safetensors file: {reason}.", where=str(path), mend=_MEND_SHARD) from error
    return [TensorInfo(name, dtype, shape, tensor_bytes(dtype, shape)) for name, dtype, shape in found]


def _read_shards(folder: Path, weight_map: dict[str, str]) -> tuple[TensorInfo, ...]:
    tensors: dict[str, TensorInfo] = {}
    home: dict[str, str] = {}
    for shard in sorted(set(weight_map.values())):
        for tensor in _read_file(folder / shard):
            if tensor.name in tensors:
                raise BadInputError(
                    f"{tensor.name!r} lies in {home[tensor.name]} and in {shard}.",
                    where=str(folder),
                    mend="Remove the files of the other checkpoint; each tensor is stored once.",
                )
            tensors[tensor.name], home[tensor.name] = tensor, shard
    for name, shard in weight_map.items():
        if name not in tensors:
            raise BadInputError(
                f"has no tensor {name!r}, which {INDEX_NAME} places there.",
                where=str(folder / shard),
                mend="Download the index and its files from one revision.",
            )
    return tuple(tensors[name] for name in sorted(tensors))


def read_headers(folder: Path, *, all_or_names: bool = False) -> Checkpoint | None:
    """Return what a folder's safetensors files hold, or None if it has neither such files nor their index.

    The totals that an index states are not read: they are twice the truth for some checkpoints (DeepSeek-V3).

    Parameters
    ----------
    folder
        Holds `model.safetensors`, or `model.safetensors.index.json` with its files, or the index alone.
    all_or_names
        Whether an index with some of its files is as good as the index alone: a hub's cache may hold any part.

    Raises
    ------
    BadInputError
        If the index or a file cannot be read, a file that the index names is missing, or a tensor is stored twice.

    """
    single, index = folder / SINGLE_NAME, folder / INDEX_NAME
    if _is_there(single):
        tensors = tuple(sorted(_read_file(single), key=lambda tensor: tensor.name))
        if not tensors:
            raise BadInputError("holds no tensor.", where=str(single), mend=_MEND_SHARD)
        return Checkpoint(str(single), tensors)
    if not _is_there(index):
        return None
    weight_map = _read_index(index)
    shards = sorted(set(weight_map.values()))
    missing = [shard for shard in shards if not _is_there(folder / shard)]
    if len(missing) == len(shards) or (missing and all_or_names):
        return Checkpoint(str(index), tuple(TensorInfo(name) for name in sorted(weight_map)))
    if missing:
        raise BadInputError(
            f"{missing[0]} is missing: {len(missing)} of the {len(shards)} files that {INDEX_NAME} names.",
            where=str(folder),
            mend="Download the rest, or remove the index and these files to plan from the configuration alone.",
        )
    return Checkpoint(str(folder), _read_shards(folder, weight_map))
