"""Asks vLLM what KV cache its own model classes need. Runs under vLLM's interpreter, without a GPU.

    python vllm_kv.py < requests.json > answers.json

A request: {"config": {...}, "tensor_parallel": 8, "kv_cache_dtype": "auto" or "fp8", "batched_tokens": 2048,
"contexts": [4096, ...]}. The model is built on the meta device by vLLM's own class, on a platform that says it is
an MI300X (gfx942) without aiter; attention backends, block size, padding, layout, groups and bytes are then vLLM's
own decisions, and none of this project's. Only what a machine without the accelerator lacks is stood in for:
amdsmi's answers, torch's device properties, compiled kernels, the size of the tensor-parallel group, and the files of
an image processor.
"""

import importlib.abc
import importlib.machinery
import json
import logging
import os
import sys
import tempfile
import traceback
import types
from pathlib import Path

GFX = "gfx942"
DEVICE_BYTES = 192 * 2**30

for _name, _value in {
    "VLLM_TARGET_DEVICE": "cpu",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "HF_HUB_OFFLINE": "1",
}.items():
    os.environ.setdefault(_name, _value)
logging.disable(logging.CRITICAL)


class Anything:
    """Stands in for compiled kernels and their languages: it can be named, called and indexed."""

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *args, **kwargs):
        return args[0] if len(args) == 1 and not kwargs and callable(args[0]) else Anything()

    def __getitem__(self, index):
        return Anything()

    def __or__(self, other):
        return Anything()

    __ror__ = __or__

    @classmethod
    def get_name(cls):
        return "NONE"


def anything(self, name):
    """Answer a module's unknown attribute."""
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything()


class AnyModule(types.ModuleType):
    """A module whose every name is a class."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Anything,), {})


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules that vLLM's models import for images and communication and that are not installed."""

    def find_spec(self, name, path, target=None):
        missing = name.split(".")[0] in {"torchvision", "cuda"}
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if missing else None

    def create_module(self, spec):
        return AnyModule(spec.name)

    def exec_module(self, module):
        pass


def stand_in_for_amdsmi():
    smi = types.ModuleType("amdsmi")
    smi.AmdSmiException = RuntimeError
    smi.AmdSmiMemoryType = types.SimpleNamespace(VRAM=0)
    smi.amdsmi_init = smi.amdsmi_shut_down = lambda: None
    smi.amdsmi_get_processor_handles = lambda: list(range(8))
    smi.amdsmi_get_gpu_asic_info = lambda handle: {
        "target_graphics_version": GFX,
        "device_id": "0x74a1",
        "market_name": "MI300X",
    }
    smi.amdsmi_get_gpu_device_uuid = lambda handle: str(handle)
    smi.amdsmi_get_gpu_memory_total = lambda handle, kind: DEVICE_BYTES
    smi.amdsmi_topo_get_link_type = lambda one, other: {"hops": 1, "type": 2}
    smi.amdsmi_topo_get_numa_node_number = lambda handle: 0
    sys.modules["amdsmi"] = smi


def stand_in_for_the_device():
    properties = types.SimpleNamespace(
        name="MI300X", gcnArchName=GFX, major=9, minor=4, warp_size=64, multi_processor_count=304
    )
    properties.total_memory, properties.shared_memory_per_block = DEVICE_BYTES, 65536
    meta = torch.device("meta")
    torch.cuda.current_device = torch.accelerator.current_device_index = lambda: meta
    torch.cuda.get_device_properties = lambda *args, **kwargs: properties
    torch.cuda.get_device_capability = lambda *args, **kwargs: (9, 4)
    torch.cuda.is_available = lambda: True
    torch.accelerator.device_count = lambda: 8
    torch.accelerator.empty_cache = lambda: None
    torch.cuda.Stream = torch.cuda.Event = type("Stream", (Anything,), {})
    torch.meta = torch.cuda


stand_in_for_amdsmi()

import torch
import vllm
import vllm.platforms
from vllm.platforms.rocm import RocmPlatform

vllm.platforms._current_platform = RocmPlatform()

import vllm.triton_utils.importing as triton_importing

triton_importing.TritonPlaceholder.__getattr__ = anything
triton_importing.TritonLanguagePlaceholder.__getattr__ = anything
stand_in_for_the_device()

import torch._ops as torch_ops
import transformers
import vllm.distributed.parallel_state as parallel
import vllm.model_executor.models.registry as registry
import vllm.model_executor.models.transformers.multimodal as multimodal
from vllm.config import get_layers_from_vllm_config, set_current_vllm_config
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase
from vllm.model_executor.model_loader.utils import initialize_model
from vllm.v1.attention.backends.utils import get_supported_kv_cache_layouts, resolve_kv_cache_layout
from vllm.v1.core import kv_cache_planning as planning
from vllm.v1.core.kv_cache_config_builder import get_kv_cache_config_builder
from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec
from vllm.v1.worker.workspace import init_workspace_manager

sys.meta_path.append(StandIns())
# The files of a processor, which say these of a model that transformers builds, do not lie beside the configuration.
multimodal.MultiModalProcessingInfo._is_image_model = True
multimodal.MultiModalProcessingInfo._is_audio_model = multimodal.MultiModalProcessingInfo._is_video_model = False
registry._run_in_subprocess = lambda function: function()
RocmPlatform.get_mla_prefill_backend_cls = classmethod(lambda cls, selector: Anything)
_known_operator = torch_ops._OpNamespace.__getattr__
_item = torch.Tensor.item
torch.Tensor.item = lambda tensor: 0.0 if tensor.is_meta else _item(tensor)


def _any_operator(self, name):
    try:
        return _known_operator(self, name)
    except AttributeError:
        return anything(self, name)


def engine_config(request, folder):
    """Return vLLM's configuration of a model, unquantized, from its config.json."""
    config = request["config"]
    for part in (config, config.get("text_config") or {}):
        part.pop("quantization_config", None)
        part.pop("quantization", None)
    (Path(folder) / "config.json").write_text(json.dumps(config))
    return EngineArgs(
        model=folder,
        skip_tokenizer_init=True,
        language_model_only=True,
        tensor_parallel_size=request["tensor_parallel"],
        distributed_executor_backend="mp",
        max_model_len=request["contexts"][0],
        kv_cache_dtype=request["kv_cache_dtype"],
        load_format="dummy",
        enforce_eager=True,
    ).create_engine_config()


def join_groups(tensor_parallel):
    """Be one device of a tensor-parallel group."""
    if not torch.distributed.is_initialized():
        handle, path = tempfile.mkstemp()
        os.close(handle)
        Path(path).unlink()
        parallel.init_distributed_environment(1, 0, f"file://{path}", 0, "gloo")
        parallel.initialize_model_parallel(1)
        parallel._EP = parallel.get_dp_group()
        init_workspace_manager(torch.device("meta"))
    parallel.get_tp_group().world_size = tensor_parallel


def build(config):
    """Build the model, so that its layers register themselves in the configuration, and return it."""
    torch_ops._OpNamespace.__getattr__ = _any_operator
    before, RocmPlatform.device_type = torch.get_default_dtype(), "meta"
    torch.set_default_dtype(config.model_config.dtype)
    config.device_config.device = torch.device("meta")
    try:
        with torch.device("meta"):
            return initialize_model(vllm_config=config)
    finally:
        torch.set_default_dtype(before)
        RocmPlatform.device_type = "cuda"
        torch_ops._OpNamespace.__getattr__ = _known_operator


def admits(config, specs, groups, available):
    """Whether vLLM starts with `available` bytes for its cache."""
    try:
        planning.get_kv_cache_configs(config, [specs], [available], groups)
    except ValueError:
        return False
    return True


def answer(request, folder):
    """Return block size, layout, bytes of a block and bytes of one request by context."""
    config = engine_config(request, folder)
    with set_current_vllm_config(config):
        join_groups(request["tensor_parallel"])
        build(config)
        vllm.platforms.current_platform.update_block_size_for_backend(config)
        config.scheduler_config.max_num_batched_tokens = request["batched_tokens"]
        specs = get_kv_cache_spec(config)
        layers = get_layers_from_vllm_config(config, AttentionLayerBase).values()
        backends = list(dict.fromkeys(layer.get_attn_backend() for layer in layers))
        layouts = [layout.name for layout in get_supported_kv_cache_layouts(backends)]
        layout = resolve_kv_cache_layout(config, [layouts], list(specs.values()))
        groups = planning.get_global_kv_cache_groups(config, [specs])
        builder = get_kv_cache_config_builder(config)
        bytes_per_block = planning._pool_bytes_per_block_from_builder(builder, config, groups)
        needed = []
        for context in request["contexts"]:
            config.model_config.max_model_len = context
            request_bytes = planning._max_memory_usage_bytes_from_groups(builder, config, groups)
            pool = request_bytes + bytes_per_block
            if not admits(config, specs, groups, pool) or admits(config, specs, groups, pool - 1):
                raise AssertionError(f"vLLM does not start with just {pool} bytes")
            needed.append(request_bytes)
    return {
        "architecture": config.model_config.architecture,
        "attention": "+".join(dict.fromkeys(backend.get_name() for backend in backends)),
        "layout": layout.name,
        "cached_layers": len(specs),
        "groups": len(groups),
        "block_tokens": config.cache_config.block_size,
        "bytes_per_block": bytes_per_block,
        "bytes_per_request": needed,
    }


def answer_all(answer):
    """Answer all requests; one that vLLM refuses is answered by its error."""
    answers = []
    for request in json.load(sys.stdin):
        try:
            with tempfile.TemporaryDirectory() as folder:
                answers.append(answer(request, folder))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            reason = " ".join(str(error).split())[:300]
            answers.append({"error": f"{type(error).__name__}: {reason} ({Path(last.filename).name}:{last.lineno})"})
    versions = {"vllm": vllm.__version__, "transformers": transformers.__version__, "device": GFX}
    json.dump({"versions": versions, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    answer_all(answer)
