"""One pass over the zoo in a fresh process: `ours` analyses, `plain` only builds the models as transformers does.

Prints JSON: CPU seconds of the loop (imports before it), the peak of resident memory in MB, and for `ours` the lines
of the docs' table. Model classes are imported before the clock starts: both passes need them.
"""

import json
import resource
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.zoo_table import refused, row
from solver.catalog import Catalog
from solver.errors import PlannerError
from solver.intake.analyze import analyze_source
from solver.intake.source import ModelSource
from solver.intake.translate import find_translation, translated

FAILURES = (PlannerError, ValueError, OSError, ImportError, AttributeError, TypeError, KeyError)
ZOO = Path(__file__).parent.parent / "tests" / "data" / "zoo.jsonl"


def records() -> list[dict[str, Any]]:
    """Return the zoo's records."""
    return [json.loads(line) for line in ZOO.read_text(encoding="utf-8").splitlines()]


def sources(folder: Path) -> list[ModelSource]:
    """Return the zoo's models that can be built, each with the file beside its configuration where it has one."""
    catalog, found = Catalog(), []
    for record in records():
        place = folder / record["name"].replace("/", "__")
        place.mkdir()
        if "side_file" in record:
            (place / "hf_quant_config.json").write_text(json.dumps(record["side_file"]))
        source = ModelSource(record["name"], "folder", record["config"], place)
        translation = find_translation(source, catalog)
        config = translated(source, translation).config if translation is not None else record["config"]
        (place / "config.json").write_text(json.dumps(config))
        found.append(source)
    return found


def build_plainly(source: ModelSource, transformers: Any, torch: Any) -> None:
    """Build a model on the meta device with nothing but transformers."""
    path = str(source.folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = transformers.AutoConfig.from_pretrained(path, trust_remote_code=False)
        for part in (config, config.get_text_config()):
            part.quantization_config = None
        names = getattr(config, "architectures", None) or []
        own = next((getattr(transformers, name) for name in names if hasattr(transformers, name)), None)
        with torch.device("meta"):
            if own is not None and isinstance(config, own.config_class or ()):
                own._from_config(config, attn_implementation="eager")
            else:
                transformers.AutoModelForCausalLM.from_config(
                    config, attn_implementation="eager", trust_remote_code=False
                )


def main(kind: str, names: set[str] | None = None) -> None:
    """Run one pass, over the models of some names or all, and print what it took."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        models = sources(Path(folder))
        catalog = Catalog()
        # The first build of each type imports its module, whichever pass it is.
        warm = {str(source.config.get("model_type")): source for source in models}
        for source in warm.values():
            with suppress(*FAILURES):
                build_plainly(source, transformers, torch)
        lines: list[str] = []
        built: list[str] = []
        start = time.process_time()
        for source, record in zip(models, records(), strict=True):
            if names is not None and source.name not in names:
                continue
            try:
                if kind == "ours":
                    analysis = analyze_source(source, catalog)
                    assert analysis.inventory is not None
                    lines.append(row(record, analysis.inventory, analysis.model.model_type, analysis.missing))
                else:
                    build_plainly(source, transformers, torch)
                built.append(source.name)
            except FAILURES as error:
                if isinstance(error, PlannerError):
                    lines.append(refused(record, error.what))
        seconds = time.process_time() - start
    # Linux counts in KiB.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 10**6
    print(json.dumps({"built": built, "seconds": seconds, "peak_mb": peak, "lines": lines}))


if __name__ == "__main__":
    main(sys.argv[1], set(sys.argv[2:]) or None)
