"""Writes the header of a GGUF file again, without its vocabulary and its weights."""

from contextlib import closing
from pathlib import Path
from typing import Any

from solver.intake.gguf_file import GgufFile


def write_stub(file: GgufFile, path: Path) -> None:
    """Write a GGUF file with the metadata of another: long arrays left out, tensors by name alone, of one element."""
    import numpy as np
    from gguf import GGUFValueType, GGUFWriter

    # gguf's own choice by value (GGUFValueType.get_type), which it takes for the items of lists, has 32 bits.
    types = {
        bool: GGUFValueType.BOOL,
        int: GGUFValueType.INT64,
        float: GGUFValueType.FLOAT64,
        str: GGUFValueType.STRING,
        list: GGUFValueType.ARRAY,
    }
    with closing(GGUFWriter(path, file.architecture)) as writer:
        for name, value in _facts(file).items():
            writer.add_key_value(name, value, types[type(value)])
        for tensor in file.checkpoint.tensors:
            writer.add_tensor(tensor.name, np.zeros(1, dtype=np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()


def _facts(file: GgufFile) -> dict[str, Any]:
    """Return the metadata to write; a vocabulary leaves its length."""
    vocabulary = file.facts.get("tokenizer.ggml.tokens")
    facts = {
        name: value
        for name, value in file.facts.items()
        if not name.startswith(("GGUF.", "tokenizer.", "split."))
        and name != "general.architecture"
        and value not in ("", [])
    }
    if isinstance(vocabulary, int):
        facts.setdefault(f"{file.architecture}.vocab_size", vocabulary)
    return facts
