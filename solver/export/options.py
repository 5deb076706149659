"""What a hand-over may carry beyond the plan, and how a target says what it cannot express."""

from dataclasses import dataclass, fields
from pathlib import Path

from solver.catalog import Catalog
from solver.errors import BadInputError
from solver.export.algorithm_config import ConfigFile
from solver.plan.document import QuantPlan
from solver.rules.settings import attention_refusal


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Where the model lies, where the result goes, and what only some targets can pass on.

    `model_dir` is a folder or a hub id; None takes the plan's own model.
    """

    model_dir: str | None = None
    output_dir: str | None = None
    min_kv_scale: float | None = None
    kv_cache_post_rope: bool = False
    attention_dtype: str | None = None
    multi_gpu: bool = False
    file2file_quantization: bool = False
    model_export: tuple[str, ...] = ()
    algorithm_config_files: tuple[ConfigFile, ...] = ()

    def asked(self) -> set[str]:
        """Return the names of the options that were given, paths left out."""
        return {
            item.name
            for item in fields(self)
            if item.name not in {"model_dir", "output_dir"} and getattr(self, item.name) != item.default
        }


def attention_note(plan: QuantPlan, options: ExportOptions, catalog: Catalog) -> str | None:
    """Return that the plan's stack does not load the attention that is asked for, or None."""
    if plan.service is None:
        return None
    service = plan.service
    kernel_class = catalog.hardware.get(service.hardware).kernel_class
    refusal = attention_refusal(catalog.backends.get(service.backend), kernel_class, options.attention_dtype)
    return None if refusal is None else f"kept as asked, though {refusal} (rule attention-is-served)"


def model_location(plan: QuantPlan, options: ExportOptions) -> str:
    """Return the checkpoint's folder as an absolute path, or its hub id."""
    named = options.model_dir or plan.model.model_path
    path = Path(named).expanduser()
    if path.suffix == ".json":
        path = path.parent
    if path.exists() or path.is_absolute() or named.startswith((".", "~")):
        return str(path.resolve())
    return named


def output_location(plan: QuantPlan, options: ExportOptions) -> str:
    """Return the absolute path of the result; by default a folder beside the current one, named by the plan."""
    if options.output_dir:
        return str(Path(options.output_dir).expanduser().resolve())
    name = Path(model_location(plan, options)).name
    return str(Path(f"{name}-{plan.global_scheme}").resolve())


FLAGS = {
    "min_kv_scale": "--min-kv-scale",
    "kv_cache_post_rope": "--kv-cache-post-rope",
    "attention_dtype": "--attention-dtype",
    "multi_gpu": "--multi-gpu",
    "file2file_quantization": "--file2file",
    "model_export": "--model-export",
    "algorithm_config_files": "--algo-config",
}
"""Options as they are typed."""


def refuse_unknown(target: str, asked: set[str], known: dict[str, frozenset[str]]) -> None:
    """Refuse options that a target cannot express, naming those that can.

    Raises
    ------
    BadInputError
        If `asked` holds an option that is not in `known[target]`; a target that is not there knows none.

    """
    for name in sorted(asked - known.get(target, frozenset())):
        able = [other for other, options in known.items() if name in options]
        raise BadInputError(
            f"{target} cannot express {FLAGS[name]} (rule target-passes-option).",
            where=f"--to {target}",
            mend=f"`--to {' or '.join(able)}` can." if able else None,
        )
