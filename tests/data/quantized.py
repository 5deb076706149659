"""Published quantized checkpoints: configuration, the file beside it, and what the hub counts in their files."""

import json
from pathlib import Path
from typing import Any

QUANTIZED: dict[str, dict[str, Any]] = {
    record["name"]: record
    for record in map(
        json.loads, (Path(__file__).parent / "quantized_configs.jsonl").read_text(encoding="utf-8").splitlines()
    )
}
"""Records by name. `counts` says what `published_elements` holds, as it was found by comparing: with all tensors but
scalars, or with weights only. `published_bytes` are those of all tensors."""


def write_checkpoint(record: dict[str, Any], folder: Path) -> Path:
    """Write a record's configuration, and the file beside it, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(record["config"]), encoding="utf-8")
    if "side_file" in record:
        (folder / "hf_quant_config.json").write_text(json.dumps(record["side_file"]), encoding="utf-8")
    return folder
