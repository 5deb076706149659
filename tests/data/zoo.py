"""183 published configurations, the file beside some, and what is published of their checkpoints."""

import json
from pathlib import Path
from typing import Any

ZOO: dict[str, dict[str, Any]] = {
    record["name"]: record
    for record in map(json.loads, (Path(__file__).parent / "zoo.jsonl").read_text(encoding="utf-8").splitlines())
}
"""Records by name: `config`, `side_file` (hf_quant_config.json), `fidelity` of the copy (file, dict in source, log,
partial), `published_elements` (as the hub counts them, `estimate` where that is one) and `published_bytes` with their
kinds and sources. `counts` says what the elements of a quantized checkpoint hold, as it was found by comparing: all
tensors but scalars, or weights only."""


def write_checkpoint(record: dict[str, Any], folder: Path) -> Path:
    """Write a record's configuration, and the file beside it, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(record["config"]), encoding="utf-8")
    if "side_file" in record:
        (folder / "hf_quant_config.json").write_text(json.dumps(record["side_file"]), encoding="utf-8")
    return folder
