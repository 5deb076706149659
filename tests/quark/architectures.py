"""Small models beyond those of `tiny`: further types that Quark has a template for, and further kinds of modules."""

from typing import Any

from tests.quark.tiny import GATED_DELTA, QWEN_VISION, TEXT, VISION, tiny_config

_EXPERTS: dict[str, Any] = {
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "n_group": 1,
    "topk_group": 1,
}
_LATENT: dict[str, Any] = {
    "num_key_value_heads": 4,
    "first_k_dense_replace": 1,
    "q_lora_rank": 64,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 16,
    "v_head_dim": 24,
}
_INDEXER: dict[str, Any] = {"index_n_heads": 2, "index_head_dim": 32, "index_topk": 16}

FURTHER: dict[str, dict[str, Any]] = {
    "opt": {"architectures": ["OPTForCausalLM"], **TEXT, "ffn_dim": 256, "word_embed_proj_dim": 64},
    "falcon": {"architectures": ["FalconForCausalLM"], **TEXT},
    "bloom": {"architectures": ["BloomForCausalLM"], "vocab_size": 256, "hidden_size": 128, "n_layer": 2, "n_head": 4},
    "gpt2": {"architectures": ["GPT2LMHeadModel"], "vocab_size": 256, "n_embd": 128, "n_layer": 2, "n_head": 4},
    "gpt_neox": {"architectures": ["GPTNeoXForCausalLM"], **TEXT},
    "mpt": {"architectures": ["MptForCausalLM"], "vocab_size": 256, "d_model": 128, "n_layers": 2, "n_heads": 4},
    "qwen2": {"architectures": ["Qwen2ForCausalLM"], **TEXT},
    "gemma2": {"architectures": ["Gemma2ForCausalLM"], **TEXT},
    "cohere": {"architectures": ["CohereForCausalLM"], **TEXT},
    "phi": {"architectures": ["PhiForCausalLM"], **TEXT},
    "olmo": {"architectures": ["OlmoForCausalLM"], **TEXT},
    "hunyuan_v1_dense": {"architectures": ["HunYuanDenseV1ForCausalLM"], **TEXT, "head_dim": 32},
    "gemma4_text": {"architectures": ["Gemma4ForCausalLM"], **TEXT, "vocab_size_per_layer_input": 256},
    "gemma4": {
        "architectures": ["Gemma4ForConditionalGeneration"],
        "text_config": {
            "model_type": "gemma4_text",
            **TEXT,
            **_EXPERTS,
            "enable_moe_block": True,
            "vocab_size_per_layer_input": 256,
        },
        "vision_config": {"model_type": "gemma4_vision", **VISION, "num_key_value_heads": 2, "head_dim": 32},
    },
    "mllama": {
        "architectures": ["MllamaForConditionalGeneration"],
        "text_config": {
            "model_type": "mllama_text_model",
            **TEXT,
            "num_hidden_layers": 3,
            "cross_attention_layers": [1],
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        },
        "vision_config": {
            "model_type": "mllama_vision_model",
            **VISION,
            "attention_heads": 2,
            "num_global_layers": 1,
            "intermediate_layers_indices": [0],
            "vision_output_dim": 128,
            "supported_aspect_ratios": [[1, 1]],
        },
    },
    "qwen2_5_vl": {
        "architectures": ["Qwen2_5_VLForConditionalGeneration"],
        "text_config": {"model_type": "qwen2_5_vl_text", **TEXT},
        "vision_config": {
            "model_type": "qwen2_5_vl",
            **QWEN_VISION,
        },
    },
    "minimax_m2": {"architectures": ["MiniMaxM2ForCausalLM"], **TEXT, **_EXPERTS, "head_dim": 32},
    "phimoe": {"architectures": ["PhimoeForCausalLM"], **TEXT, **_EXPERTS},
    "olmoe": {"architectures": ["OlmoeForCausalLM"], **TEXT, **_EXPERTS},
    "granitemoe": {"architectures": ["GraniteMoeForCausalLM"], **TEXT, **_EXPERTS},
    "jetmoe": {"architectures": ["JetMoeForCausalLM"], **TEXT, **_EXPERTS},
    "ernie4_5_moe": {
        "architectures": ["Ernie4_5_MoeForCausalLM"],
        **TEXT,
        "moe_num_experts": 4,
        "moe_k": 2,
        "moe_intermediate_size": 64,
        "moe_layer_start_index": 1,
    },
    "hunyuan_v1_moe": {"architectures": ["HunYuanMoEV1ForCausalLM"], **TEXT, **_EXPERTS, "head_dim": 32},
    "dots1": {
        "architectures": ["Dots1ForCausalLM"],
        **TEXT,
        **_EXPERTS,
        "first_k_dense_replace": 1,
        "n_shared_experts": 1,
    },
    "lfm2_moe": {
        "architectures": ["Lfm2MoeForCausalLM"],
        **TEXT,
        **_EXPERTS,
        "num_dense_layers": 1,
        "layer_types": ["conv", "full_attention"],
    },
    "qwen3_5_moe": {
        "architectures": ["Qwen3_5MoeForConditionalGeneration"],
        "text_config": {
            "model_type": "qwen3_5_moe_text",
            **TEXT,
            **_EXPERTS,
            "head_dim": 32,
            "shared_expert_intermediate_size": 64,
            **GATED_DELTA,
            "layer_types": ["linear_attention", "full_attention"],
        },
        "vision_config": {
            "model_type": "qwen3_5_moe",
            **QWEN_VISION,
            "num_position_embeddings": 16,
        },
    },
    "qwen3_vl_moe": {
        "architectures": ["Qwen3VLMoeForConditionalGeneration"],
        "text_config": {"model_type": "qwen3_vl_moe_text", **TEXT, **_EXPERTS, "head_dim": 32},
        "vision_config": {
            "model_type": "qwen3_vl_moe",
            **QWEN_VISION,
            "num_position_embeddings": 16,
            "deepstack_visual_indexes": [0],
        },
    },
    "nemotron_h": {
        "architectures": ["NemotronHForCausalLM"],
        **TEXT,
        **_EXPERTS,
        "num_hidden_layers": 4,
        "layers_block_type": ["mamba", "moe", "attention", "mlp"],
        "head_dim": 32,
        "moe_shared_expert_intermediate_size": 64,
        "mamba_num_heads": 8,
        "mamba_head_dim": 32,
        "ssm_state_size": 16,
        "n_groups": 1,
    },
    "jamba": {
        "architectures": ["JambaForCausalLM"],
        **TEXT,
        **_EXPERTS,
        "num_hidden_layers": 4,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
        "use_mamba_kernels": False,
    },
    "dbrx": {
        "architectures": ["DbrxForCausalLM"],
        "vocab_size": 256,
        "d_model": 128,
        "n_heads": 4,
        "n_layers": 2,
        "max_seq_len": 512,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
        "ffn_config": {"ffn_hidden_size": 192, "moe_num_experts": 4, "moe_top_k": 2, "ffn_act_fn": {"name": "silu"}},
    },
    "glm4_moe_lite": {
        "architectures": ["Glm4MoeLiteForCausalLM"],
        **TEXT,
        **_EXPERTS,
        **_LATENT,
        "mlp_layer_types": ["dense", "sparse"],
    },
    "deepseek_v32": {"architectures": ["DeepseekV32ForCausalLM"], **TEXT, **_EXPERTS, **_LATENT, **_INDEXER},
    "glm_moe_dsa": {"architectures": ["GlmMoeDsaForCausalLM"], **TEXT, **_EXPERTS, **_LATENT, **_INDEXER},
    "longcat_flash": {"architectures": ["LongcatFlashForCausalLM"], **TEXT, **_EXPERTS, **_LATENT},
    "deepseek_v4": {
        "architectures": ["DeepseekV4ForCausalLM"],
        **TEXT,
        **_EXPERTS,
        **_INDEXER,
        "num_hidden_layers": 3,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "q_lora_rank": 64,
        "o_lora_rank": 32,
        "o_groups": 2,
    },
    "kimi_k25": {
        "architectures": ["Kimi_K25ForConditionalGeneration"],
        "text_config": {"model_type": "deepseek_v3", **TEXT, **_EXPERTS, **_LATENT},
        "vision_config": {**VISION},
    },
    "minimax_m3_vl": {
        "architectures": ["MiniMaxM3SparseForConditionalGeneration"],
        "text_config": {**TEXT, **_EXPERTS, "head_dim": 32},
        "vision_config": {**VISION},
    },
}


def small_config(name: str) -> Any:
    """Return the transformers configuration of a small model of any type that is known here."""
    from transformers import AutoConfig

    if name in FURTHER:
        return AutoConfig.for_model(name, dtype="bfloat16", **FURTHER[name])
    return tiny_config(name)
