"""Finds the configuration of a model: bundled zoo, file, folder, hub cache or hub."""

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solver.catalog import Catalog
from solver.errors import BadInputError, MissingError
from solver.intake.gguf_file import SUFFIX, GgufFile, only_gguf, read_gguf
from solver.intake.headers import INDEX_NAME, SINGLE_NAME
from solver.intake.json_file import read_json

CONFIG_NAME = "config.json"
SIDE_QUANT_CONFIG = "hf_quant_config.json"


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A configuration and where it came from; that of a GGUF file is empty and lies in its header.

    `folder` is where the checkpoint's other files would lie: None for the bundled zoo, and for a file that is not
    called `config.json`, whose neighbours belong to another.
    """

    name: str
    kind: str
    config: dict[str, Any]
    folder: Path | None = None
    revision: str | None = None
    gguf: GgufFile | None = None

    @property
    def config_sha256(self) -> str:
        """Hash of the configuration in canonical JSON."""
        text = json.dumps(self.config, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _read_config(path: Path) -> dict[str, Any]:
    mend = "A model configuration is the config.json of a Hugging Face checkpoint."
    try:
        config = read_json(path)
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"not valid JSON: {error}.", where=str(path), mend=mend) from error
    except OSError as error:
        raise BadInputError(f"cannot be read: {error.strerror}.", where=str(path), mend=mend) from error
    if not isinstance(config, dict):
        raise BadInputError("holds no JSON object.", where=str(path), mend=mend)
    return config


def _without_config(folder: Path) -> ModelSource:
    """Return what a folder without a configuration holds: a GGUF file, or tensors whose headers say enough."""
    name = str(folder.resolve())
    gguf = only_gguf(folder)
    if gguf is not None:
        return ModelSource(str(gguf.resolve()), "gguf", {}, gguf=read_gguf(gguf))
    if any((folder / headers).is_file() for headers in (SINGLE_NAME, INDEX_NAME)):
        return ModelSource(name, "folder", {}, folder)
    raise BadInputError(
        f"the folder has no {CONFIG_NAME}.",
        where=str(folder),
        mend="Name a checkpoint's folder or its config.json.",
    )


def _from_path(path: Path) -> ModelSource:
    file = path / CONFIG_NAME if path.is_dir() else path
    if path.is_file() and path.suffix == SUFFIX:
        return ModelSource(str(path.resolve()), "gguf", {}, gguf=read_gguf(path))
    if path.is_file() and path.suffix == Path(SINGLE_NAME).suffix:
        raise BadInputError("is one file of a checkpoint.", where=str(path), mend="Name the folder that holds it.")
    if not file.is_file():
        return _without_config(path)
    folder = file.parent if file.name == CONFIG_NAME else None
    return ModelSource(str(path.resolve()), "folder" if path.is_dir() else "file", _read_config(file), folder)


def _from_hub(name: str, revision: str | None, nearest: list[str], *, local_only: bool) -> ModelSource:
    # Imported here: it takes a tenth of a second, and reads HF_HOME, HF_HUB_OFFLINE and HF_TOKEN itself.
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
    )
    from huggingface_hub.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        try:
            cached = hf_hub_download(name, CONFIG_NAME, revision=revision, local_files_only=True)
        except LocalEntryNotFoundError:
            if local_only:
                raise
            cached = hf_hub_download(name, CONFIG_NAME, revision=revision)
            # Some quantized checkpoints say so only here; a configuration from the cache is taken without the network.
            with suppress(HfHubHTTPError, LocalEntryNotFoundError, OSError):
                hf_hub_download(name, SIDE_QUANT_CONFIG, revision=Path(cached).parent.name)
        path = Path(cached)
    except HFValidationError:
        raise BadInputError(
            f"{name!r} is neither a file, a folder, a bundled model nor a hub id.",
            where="--model",
            mend="`solve profiles list models` lists the bundled ones.",
        ) from None
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, OSError) as error:
        raise MissingError(
            f"{name} is not bundled, not in the local hub cache, and the hub gave no {CONFIG_NAME} "
            f"({type(error).__name__}).",
            where="--model",
            mend=(f"Did you mean {', '.join(nearest)}? " if nearest else "")
            + "Name a local folder or config.json, or one of `solve profiles list models`.",
        ) from error
    # The cache lays files out as snapshots/<commit>/<file>.
    return ModelSource(name, "hub", _read_config(path), path.parent, revision=path.parent.name)


def find_source(model: str, catalog: Catalog, *, revision: str | None = None, local_only: bool = False) -> ModelSource:
    """Return the configuration that `model` names.

    Parameters
    ----------
    model
        A config.json, a checkpoint's folder, a GGUF file, the name of a bundled model, or a hub id. Existing paths win,
        then bundled models (unless a revision is asked for), then the hub, its local cache first.
    revision
        Branch, tag or commit of a hub model.
    local_only
        Whether to stay off the network.

    Raises
    ------
    BadInputError
        If a path holds no readable configuration and no headers, or the name can name nothing.
    MissingError
        If the hub id is not at hand and the hub cannot be reached.

    """
    if not model.strip():
        raise BadInputError("is empty.", where="--model", mend="Name a model: `solve profiles list models`.")
    try:
        path = Path(model).expanduser()
        exists = path.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise BadInputError(f"can name no file: {error}.", where=f"--model {model[:40]}") from error
    if exists:
        return _from_path(path)
    bundled = catalog.models.find(model) if revision is None else None
    if bundled is not None:
        return ModelSource(bundled.name, "zoo", bundled.config)
    if model.endswith(".json") or model.startswith((".", "/", "~")):
        raise BadInputError("there is no such file or folder.", where=model)
    if "/" not in model:
        catalog.models.get(model)
    return _from_hub(model, revision, catalog.models.nearest(model), local_only=local_only)
