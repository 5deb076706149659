"""Asks vLLM how many bytes of parameters one device holds of its own model classes. Runs under vLLM's interpreter.

    python vllm_weights.py < requests.json > answers.json

A request: {"config": {...}, "tensor_parallel": 8}, without quantization; the model is built on the meta device as
`vllm_kv.py` builds it, without its vision tower. An answer has the class and the bytes, or an error.
"""

from vllm_kv import answer_all, build, engine_config, join_groups, set_current_vllm_config


def answer(request, folder):
    """Return the class and the bytes of all parameters, shared ones once."""
    config = engine_config({"kv_cache_dtype": "auto", "contexts": [4096], **request}, folder)
    with set_current_vllm_config(config):
        join_groups(request["tensor_parallel"])
        model = build(config)
    held = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    return {"class": type(model).__name__, "bytes": held}


if __name__ == "__main__":
    answer_all(answer)
