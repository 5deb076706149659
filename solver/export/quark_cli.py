"""The `quark-cli torch-llm-ptq` command of amd-quark 0.13."""

from itertools import chain

from solver.errors import BadInputError
from solver.export.command import Group, render
from solver.export.options import ExportOptions, model_location, output_location
from solver.plan.document import QuantPlan

PROGRAM: Group = ("quark-cli", "torch-llm-ptq")
SUPPORTED = frozenset({"algorithm_config_files"})


def shared_groups(plan: QuantPlan, options: ExportOptions) -> list[Group]:
    """Return the flags that quark-cli and the example script spell alike.

    `--exclude_layers` is always written in full: passing it replaces the template's defaults. It is never last, so
    that its list cannot swallow what follows.
    """
    groups: list[Group] = [
        ("--model_dir", model_location(plan, options)),
        ("--output_dir", output_location(plan, options)),
        ("--quant_scheme", plan.global_scheme),
        *(("--layer_quant_scheme", pattern, scheme) for pattern, scheme in plan.layer_quant_config.items()),
        ("--exclude_layers", *plan.exclude_layers),
    ]
    if plan.kv_cache_scheme is not None:
        groups.append(("--kv_cache_dtype", plan.kv_cache_scheme))
    if plan.algorithm is not None:
        groups.append(("--quant_algo", plan.algorithm))
    return [
        *groups,
        ("--dataset", plan.calibration.dataset),
        ("--num_calib_data", str(plan.calibration.num_calib_data)),
        ("--seq_len", str(plan.calibration.seq_len)),
    ]


def check_template(plan: QuantPlan, target: str, other: str = "") -> None:
    """Refuse a plan for a model type without a built-in template, which a target needs; `other` mends it too.

    Raises
    ------
    BadInputError
        If Quark has none.

    """
    if not plan.model.template_builtin:
        raise BadInputError(
            f"Quark 0.13 has no template for model type {plan.model.model_type!r}, and {target} needs one.",
            where=f"--to {target}",
            mend="`--to quark-python` writes a script that registers one" + (f"; {other}." if other else "."),
        )


def _template_file(plan: QuantPlan, options: ExportOptions) -> str | None:
    """Return the template file that quark-cli registers in place of its own, or None."""
    files = options.algorithm_config_files
    if not files:
        return None
    if len(files) > 1 or files[0].template is None:
        raise BadInputError(
            "quark-cli takes the settings of algorithms in one template file only.",
            where="--algo-config",
            mend="`--to quark-template` with the same files writes it; `--to quark-python` takes these.",
        )
    lacking = [name for name in (plan.algorithm or "").split(",") if name and name not in files[0].configs]
    if lacking:
        raise BadInputError(
            f"has no {', '.join(lacking)}, and it replaces Quark's own template.",
            where=files[0].path,
            mend="`--to quark-template` with the settings of all algorithms of the plan writes one.",
        )
    return files[0].path


def _groups(plan: QuantPlan, options: ExportOptions) -> list[Group]:
    template = _template_file(plan, options)
    if template is None:
        check_template(plan, "quark-cli", "`--to quark-template` a file of it, for `--algo-config`")
    groups = [*([("--template_file", template)] if template else []), *shared_groups(plan, options)]
    # The only evaluation that quark-cli has is perplexity on wikitext.
    if plan.evaluation_intent == "none":
        groups.append(("--skip_evaluation",))
    else:
        groups.append(("--evaluation_dataset", "wikitext"))
    if not plan.model.trust_remote_code:
        groups.append(("--no_trust_remote_code",))
    return groups


def arguments(plan: QuantPlan, options: ExportOptions) -> list[str]:
    """Return the program and its arguments, as `subprocess.run` takes them."""
    return [*PROGRAM, *chain.from_iterable(_groups(plan, options))]


def export(plan: QuantPlan, options: ExportOptions) -> str:
    """Return the command; it loads the calibration data from the hub when it runs."""
    return render(PROGRAM, _groups(plan, options))
