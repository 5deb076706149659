"""Small models of many architectures: the module names of the published ones, in a megabyte each."""

from typing import Any

TEXT: dict[str, Any] = {
    "vocab_size": 256,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_SIZES: dict[str, Any] = {**TEXT, "num_hidden_layers": 4, "head_dim": 32}
_EXPERTS: dict[str, Any] = {"moe_intermediate_size": 128, "num_experts": 4, "num_experts_per_tok": 2}
_LATENT: dict[str, Any] = {
    "num_key_value_heads": 4,
    "moe_intermediate_size": 128,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "n_group": 2,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "q_lora_rank": 64,
    "kv_lora_rank": 64,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 32,
    "v_head_dim": 32,
}
GATED_DELTA: dict[str, Any] = {
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
}
_LINEAR_ATTENTION: dict[str, Any] = {**GATED_DELTA, "layer_types": ["linear_attention", "full_attention"] * 2}
VISION: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}
QWEN_VISION: dict[str, Any] = {
    "depth": 2,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_heads": 2,
    "out_hidden_size": 128,
}

_CONFIGS: dict[str, dict[str, Any]] = {
    # Twelve blocks: patterns for numbers of one digit and of two.
    "llama": {"architectures": ["LlamaForCausalLM"], **_SIZES, "num_hidden_layers": 12},
    "qwen3": {"architectures": ["Qwen3ForCausalLM"], **_SIZES},
    "mistral": {"architectures": ["MistralForCausalLM"], **_SIZES},
    "phi3": {"architectures": ["Phi3ForCausalLM"], **_SIZES},
    "gptj": {
        "architectures": ["GPTJForCausalLM"],
        "vocab_size": 256,
        "n_positions": 512,
        "n_embd": 128,
        "n_layer": 4,
        "n_head": 4,
        "rotary_dim": 16,
    },
    "gemma3_text": {"architectures": ["Gemma3ForCausalLM"], **_SIZES},
    "gemma3": {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "text_config": {"model_type": "gemma3_text", **_SIZES},
        "vision_config": {"model_type": "siglip_vision_model", "vision_use_head": False, **VISION},
        "mm_tokens_per_image": 4,
    },
    "mixtral": {"architectures": ["MixtralForCausalLM"], **_SIZES, "num_local_experts": 4},
    "qwen2_moe": {
        "architectures": ["Qwen2MoeForCausalLM"],
        **_SIZES,
        **_EXPERTS,
        "shared_expert_intermediate_size": 128,
    },
    "qwen3_moe": {"architectures": ["Qwen3MoeForCausalLM"], **_SIZES, **_EXPERTS},
    "qwen3_next": {
        "architectures": ["Qwen3NextForCausalLM"],
        **_SIZES,
        **_EXPERTS,
        **_LINEAR_ATTENTION,
        "shared_expert_intermediate_size": 128,
    },
    "gpt_oss": {"architectures": ["GptOssForCausalLM"], **_SIZES, "num_local_experts": 4},
    "deepseek_v2": {"architectures": ["DeepseekV2ForCausalLM"], **_SIZES, **_LATENT},
    "deepseek_v3": {"architectures": ["DeepseekV3ForCausalLM"], **_SIZES, **_LATENT},
    "glm4_moe": {
        "architectures": ["Glm4MoeForCausalLM"],
        **_SIZES,
        "moe_intermediate_size": 128,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_group": 1,
        "topk_group": 1,
    },
    "granitemoehybrid": {
        "architectures": ["GraniteMoeHybridForCausalLM"],
        **_SIZES,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "shared_intermediate_size": 128,
        "layer_types": ["mamba", "attention"] * 2,
        "mamba_n_heads": 8,
        "mamba_d_head": 32,
        "mamba_d_state": 16,
        "mamba_n_groups": 1,
    },
    "lfm2": {
        "architectures": ["Lfm2ForCausalLM"],
        **_SIZES,
        "layer_types": ["conv", "full_attention"] * 2,
    },
    "llama4": {
        "architectures": ["Llama4ForConditionalGeneration"],
        "text_config": {
            "model_type": "llama4_text",
            **_SIZES,
            "intermediate_size_mlp": 256,
            "num_local_experts": 4,
            "interleave_moe_layer_step": 2,
        },
        "vision_config": {
            "model_type": "llama4_vision_model",
            **VISION,
            "vision_output_dim": 64,
            "projector_input_dim": 64,
            "projector_output_dim": 64,
        },
    },
    "qwen3_5": {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "text_config": {"model_type": "qwen3_5_text", **_SIZES, **_LINEAR_ATTENTION},
        "vision_config": {
            "model_type": "qwen3_5",
            **QWEN_VISION,
            "num_position_embeddings": 16,
        },
    },
    # Model types that Quark 0.13 has no template for.
    "smollm3": {"architectures": ["SmolLM3ForCausalLM"], **_SIZES},
    "olmo2": {"architectures": ["Olmo2ForCausalLM"], **_SIZES},
    "llava": {
        "architectures": ["LlavaForConditionalGeneration"],
        "text_config": {"model_type": "llama", **_SIZES},
        "vision_config": {"model_type": "clip_vision_model", **VISION, "projection_dim": 64},
        "image_seq_length": 4,
    },
}


UNTEMPLATED = ("smollm3", "olmo2", "llava")
TEMPLATED = tuple(name for name in _CONFIGS if name not in UNTEMPLATED)


def tiny_config(name: str, **changes: Any) -> Any:
    """Return the transformers configuration of a small model."""
    from transformers import AutoConfig

    return AutoConfig.for_model(name, dtype="bfloat16", **(_CONFIGS[name] | changes))
