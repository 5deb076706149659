"""The command of Quark's example script `quantize_quark.py`, which has flags that quark-cli lacks."""

from solver.errors import BadInputError
from solver.export.command import Group, render
from solver.export.options import ExportOptions
from solver.export.quark_cli import check_template, shared_groups
from solver.plan.document import QuantPlan

PROGRAM: Group = ("python3", "quantize_quark.py")
SUPPORTED = frozenset(
    {
        "min_kv_scale",
        "kv_cache_post_rope",
        "attention_dtype",
        "multi_gpu",
        "file2file_quantization",
        "model_export",
        "algorithm_config_files",
    }
)
_FULL_EVALUATION_TASKS = "mmlu,gsm8k"
_DEFAULT_EXPORT = ("hf_format",)


def _checked_exports(plan: QuantPlan, options: ExportOptions) -> tuple[str, ...]:
    exports = options.model_export or _DEFAULT_EXPORT
    stored = plan.model.stored
    if options.file2file_quantization and stored is not None and not stored.file2file:
        formats = ", ".join(stored.formats) or stored.method
        raise BadInputError(
            f"Quark 0.13's file-to-file mode does not read a checkpoint that is stored as {formats}.",
            where="--file2file",
            mend="Leave it out, or name the 16-bit original with --model-dir in a plan of its own.",
        )
    if options.file2file_quantization and exports != _DEFAULT_EXPORT:
        raise BadInputError(
            "file-to-file quantization writes hf_format only.",
            where="--model-export",
            mend="Leave --model-export out.",
        )
    return exports


def _config_files(options: ExportOptions) -> list[Group]:
    for file in options.algorithm_config_files:
        if file.template is not None:
            raise BadInputError(
                "quantize_quark.py reads one algorithm a file, and this is a template file.",
                where=file.path,
                mend="`--to quark-cli` and `--to quark-python` take it.",
            )
    return [
        ("--quant_algo_config_file", name, file.path)
        for file in options.algorithm_config_files
        for name in file.configs
    ]


def export(plan: QuantPlan, options: ExportOptions) -> str:
    """Return the command, to be run in `examples/torch/language_modeling/llm_ptq` of Quark's repository."""
    check_template(plan, "quantize-quark")
    groups = shared_groups(plan, options)
    if options.min_kv_scale is not None:
        groups.append(("--min_kv_scale", str(options.min_kv_scale)))
    if options.kv_cache_post_rope:
        groups.append(("--kv_cache_post_rope",))
    if options.attention_dtype is not None:
        groups.append(("--attention_dtype", options.attention_dtype))
    groups.extend(_config_files(options))
    groups.extend(("--model_export", name) for name in _checked_exports(plan, options))
    if options.multi_gpu:
        groups.append(("--multi_gpu",))
    if options.file2file_quantization:
        groups.append(("--file2file_quantization",))
    evaluation: dict[str, Group] = {
        "none": ("--skip_evaluation",),
        "smoke": ("--evaluation_dataset", "wikitext"),
        "full": ("--tasks", _FULL_EVALUATION_TASKS),
    }
    groups.append(evaluation[plan.evaluation_intent])
    groups.append(("--trust_remote_code" if plan.model.trust_remote_code else "--no_trust_remote_code",))
    return render(PROGRAM, groups)
