"""Hub ids: the local cache answers without the network, and what is not there is said plainly."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 512,
    "torch_dtype": "bfloat16",
}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Return a hub cache that holds one small model, laid out as huggingface_hub lays it out."""
    repository = tmp_path / "models--somebody--small-llama"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT, encoding="utf-8")
    (snapshot / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return tmp_path


def analyze(model: str, cache: Path) -> subprocess.CompletedProcess[str]:
    # A process of its own: huggingface_hub reads its environment when it is imported.
    environment = os.environ | {"HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "1"}
    program = Path(sys.executable).with_name("solve")
    command = [program, "analyze", model]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=cache)


class TestHub:
    def test_a_cached_model_is_analysed_and_its_commit_recorded(self, cache: Path) -> None:
        done = analyze("somebody/small-llama", cache)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert document["model"]["model_path"] == "somebody/small-llama"
        assert document["model"]["revision"] == COMMIT
        assert document["quantization_targets"]["linear_layer_count"] == 2 * 7 + 1

    def test_what_lies_beside_the_configuration_in_the_cache_is_read(self, cache: Path) -> None:
        snapshot = cache / "models--somebody--small-llama" / "snapshots" / COMMIT
        side = {"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
        (snapshot / "hf_quant_config.json").write_text(json.dumps(side), encoding="utf-8")
        done = analyze("somebody/small-llama", cache)
        assert done.returncode == 0, done.stderr
        inventory = json.loads(done.stdout)["inventory"]
        assert inventory["quantized"]["place"] == "hf_quant_config.json"
        assert inventory["checkpoint_bytes"] < inventory["unquantized_bytes"]

    def test_a_model_that_is_nowhere_is_missing(self, cache: Path) -> None:
        done = analyze("somebody/other-llama", cache)
        assert done.returncode == 4
        assert "not bundled, not in the local hub cache" in done.stderr
        assert "Traceback" not in done.stderr
