"""Writes the header of a GGUF file again, without its vocabulary and its weights."""

from pathlib import Path
from typing import Any

from solver.intake.gguf_file import GgufFile


def write_stub(file: GgufFile, path: Path) -> None:
    """Write a GGUF file with the metadata of another: long arrays left out, tensors by name alone, of one element."""
    import numpy as np
    from gguf import GGUFWriter

    writer = GGUFWriter(path, file.architecture)
    for name, value in _facts(file).items():
        _add(writer, name, value)
    for tensor in file.checkpoint.tensors:
        writer.add_tensor(tensor.name, np.zeros(1, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _facts(file: GgufFile) -> dict[str, Any]:
    """Return the metadata to write; a vocabulary leaves its length."""
    vocabulary = file.facts.get("tokenizer.ggml.tokens")
    facts = {
        name: value
        for name, value in file.facts.items()
        if not name.startswith(("GGUF.", "tokenizer.", "split.")) and name != "general.architecture"
    }
    if isinstance(vocabulary, int):
        facts.setdefault(f"{file.architecture}.vocab_size", vocabulary)
    return facts


def _add(writer: Any, name: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(name, value)
    elif isinstance(value, int):
        writer.add_int64(name, value)
    elif isinstance(value, float):
        writer.add_float64(name, value)
    elif isinstance(value, str) and value:
        writer.add_string(name, value)
    elif isinstance(value, list) and value:
        writer.add_array(name, value)
