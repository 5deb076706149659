"""Asks vLLM what it makes of each layer of a Quark export. Runs under vLLM's interpreter, without a GPU.

    python vllm_quark.py < requests.json > answers.json

A request: {"config": {...}, "names": [...]}, a model's config.json with the `quantization_config` that Quark exports,
and the layers' names in the checkpoint. vLLM's own class builds the model on the meta device as in `vllm_kv`; whatever
layer asks `QuarkConfig` for its method is recorded with vLLM's verdict, and built unquantized, because the kernels of
the methods are not installed here. A verdict is the key of the weight, the key of the activation and the method, or the
error that loading would raise; `homes` says by which name vLLM looked up the layer that each name of the checkpoint is
loaded into: "" if it never asks for a method, null if it has no such layer.
"""

import json
import re
from pathlib import Path

import vllm_kv  # stands in for the device, and so comes first
from vllm.config import set_current_vllm_config
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.layers.attention import Attention, MLAAttention
from vllm.model_executor.layers.fused_moe import RoutedExperts, UnquantizedFusedMoEMethod
from vllm.model_executor.layers.linear import LinearBase, UnquantizedLinearMethod
from vllm.model_executor.layers.quantization.quark.quark import QuarkConfig

KINDS = {"linear": LinearBase, "experts": RoutedExperts, "attention": (Attention, MLAAttention)}
_EXPERT = re.compile(r"\.experts\.\d+\..*")


def kind_of(layer):
    """Return what kind of layer it is; None for embeddings, whose methods Quark leaves alone."""
    return next((kind for kind, types in KINDS.items() if isinstance(layer, types)), None)


class Recorder:
    """Stands in for `QuarkConfig.get_quant_method`: notes the verdict on each layer."""

    def __init__(self):
        self.verdicts = {}
        self.layers = {}
        self.packed = {}
        self.method = QuarkConfig.get_quant_method

    def __enter__(self):
        recorder = self
        QuarkConfig.get_quant_method = lambda config, layer, prefix: recorder.note(config, layer, prefix)
        return self

    def __exit__(self, *raised):
        QuarkConfig.get_quant_method = self.method

    def note(self, config, layer, prefix):
        """Keep vLLM's verdict on a layer, and return a method that needs no kernels."""
        kind = kind_of(layer)
        if kind is None:
            return None
        self.packed = dict(config.packed_modules_mapping)
        try:
            weight, activation, method = config.get_quant_method_target(prefix, type(layer))
            verdict = [weight and str(weight), activation and str(activation), method and method.__name__]
        except Exception as error:
            verdict = f"{type(error).__name__}: {' '.join(str(error).split())}"
        self.verdicts[prefix] = (kind, verdict)
        self.layers[id(layer)] = (prefix, layer)
        if kind == "experts":
            return UnquantizedFusedMoEMethod(layer.moe_config)
        return UnquantizedLinearMethod() if kind == "linear" else None

    def asked(self, model):
        """Return by which name each module asked for its method, by its path; "" for those that never did."""
        found = {}
        for path, module in model.named_modules():
            prefix = self.layers[id(module)][0] if id(module) in self.layers else ""
            found[path] = prefix
            if path.endswith(".routed_experts"):
                found[path.removesuffix(".routed_experts")] = prefix
        return found


def home_of(name, mapper, packed, asked):
    """Return the name by which vLLM looks up the layer that a linear of the checkpoint is loaded into."""
    mapped = mapper.map_name(f"{name}.weight") if mapper is not None else f"{name}.weight"
    if mapped is None:
        return None
    path = _EXPERT.sub(".experts", mapped.removesuffix(".weight"))
    parent, _, leaf = path.rpartition(".")
    fused = [f"{parent}.{joint}" for joint, parts in packed.items() if leaf in parts]
    return next((asked[home] for home in (path, *fused) if home in asked), None)


def engine_config(config, folder):
    """Return vLLM's configuration of a model from its config.json."""
    (Path(folder) / "config.json").write_text(json.dumps(config))
    return EngineArgs(
        model=folder,
        skip_tokenizer_init=True,
        language_model_only=True,
        max_model_len=256,
        load_format="dummy",
        enforce_eager=True,
    ).create_engine_config()


def answer(request, folder):
    """Return the verdicts on all layers of a model."""
    with Recorder() as recorder:
        config = engine_config(request["config"], folder)
        with set_current_vllm_config(config):
            vllm_kv.join_groups(1)
            model = vllm_kv.build(config)
    asked = recorder.asked(model)
    mapper = getattr(type(model), "hf_to_vllm_mapper", None)
    homes = {name: home_of(name, mapper, recorder.packed, asked) for name in request["names"]}
    layers = [{"name": name, "kind": kind, "verdict": verdict} for name, (kind, verdict) in recorder.verdicts.items()]
    cache = config.quant_config.kv_cache_config
    return {
        "architecture": config.model_config.architecture,
        "packed": recorder.packed,
        "kv_cache": cache and cache["dtype"],
        "layers": layers,
        "homes": homes,
    }


if __name__ == "__main__":
    vllm_kv.answer_all(answer)
