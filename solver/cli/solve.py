"""`solve`: from a model, a budget and an accelerator to a plan."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from solver.cli.options import (
    BackendOption,
    ContextOption,
    ExpertParallelOption,
    HardwareOption,
    NoCacheOption,
    ProfilesOption,
    RevisionOption,
    TrustOption,
)
from solver.version import __version__


class Scope(StrEnum):
    """What the budget bounds."""

    total = "total"
    weights = "weights"


class Kv(StrEnum):
    """Schemes of the KV cache."""

    none = "none"
    fp8 = "fp8"


class Fineness(StrEnum):
    """What is decided as one."""

    uniform = "uniform"
    role = "role"
    block = "block"
    unit = "unit"


class Mtp(StrEnum):
    """What becomes of multi-token-prediction layers."""

    drop = "drop"
    keep = "keep"


class Intent(StrEnum):
    """How much Quark evaluates."""

    none = "none"
    smoke = "smoke"
    full = "full"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quant-plan-solver {__version__}")
        raise typer.Exit


def solve(
    ctx: typer.Context,
    model: Annotated[
        str | None,
        typer.Option(
            help="Bundled model, hub id, checkpoint's folder, config.json, GGUF file or model_analysis.json; by "
            "default ./model_analysis.json. May stand first, without --model."
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Bytes of one device, 40GB or 40GiB; by default what the device has.")
    ] = None,
    budget_scope: Annotated[
        Scope, typer.Option(help="Bound everything on the device, or weights alone.")
    ] = Scope.total,
    hardware: HardwareOption = None,
    backend: BackendOption = None,
    context: ContextOption = None,
    concurrency: Annotated[int, typer.Option(help="Sequences in service at once.", min=1, max=10**6)] = 1,
    max_num_seqs: Annotated[
        int | None, typer.Option(help="Sequences that the stack batches; by default --concurrency.", min=1, max=10**6)
    ] = None,
    max_num_batched_tokens: Annotated[
        int | None, typer.Option(help="Tokens that the stack batches; by default at most 2048.", min=1, max=10**7)
    ] = None,
    tp: Annotated[int, typer.Option(help="Devices that share each layer.", min=1, max=4096)] = 1,
    expert_parallel: ExpertParallelOption = False,
    mtp: Annotated[Mtp, typer.Option(help="Multi-token-prediction layers: count them, or not.")] = Mtp.drop,
    kv: Annotated[Kv | None, typer.Option(help="KV cache; by default the planner chooses.")] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(help="One or more, awq,smoothquant, or none; by default the planner chooses."),
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Pattern of layers to leave native; repeatable.")] = None,
    layer: Annotated[list[str] | None, typer.Option(help="PATTERN=SCHEME to insist on; repeatable.")] = None,
    pin: Annotated[list[str] | None, typer.Option(help="ROLE=SCHEME to insist on, as down=fp8; repeatable.")] = None,
    floor: Annotated[
        list[str] | None, typer.Option(help="ROLE=BITS that weights have at least, as down=8; repeatable.")
    ] = None,
    scheme: Annotated[str | None, typer.Option(help="Scheme of all layers that may have it, to insist on.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Keep what the stack alone refuses, as a high risk; never what Quark does.")
    ] = False,
    allow_emulated: Annotated[
        bool,
        typer.Option("--allow-emulated", help="Allow schemes that the stack only emulates: no speed-up."),
    ] = False,
    granularity: Annotated[
        Fineness, typer.Option(help="What is decided as one: the model, a role, a block, or each unit.")
    ] = Fineness.unit,
    max_overrides: Annotated[
        int | None, typer.Option(help="Patterns beside the global scheme at most.", min=0, max=10**4)
    ] = None,
    max_schemes: Annotated[int | None, typer.Option(help="Different schemes at most.", min=1, max=100)] = None,
    min_decode_tps: Annotated[
        float | None, typer.Option(help="Tokens/s of each sequence, at least, by roofline.", min=0.0)
    ] = None,
    alternatives: Annotated[
        int | None, typer.Option(help="Plans to offer; by default three to seven.", min=1, max=50)
    ] = None,
    faster: Annotated[
        int, typer.Option(help="Limits on the decoding step, each with its least risky plan.", min=0, max=20)
    ] = 0,
    diverse: Annotated[
        int, typer.Option(help="Further plans, with other schemes for a quarter of the weights.", min=0, max=10)
    ] = 0,
    goal: Annotated[
        str | None,
        typer.Option(help="What matters most: accuracy, balanced, size, speed, cpu, gguf or experiment."),
    ] = None,
    calib_dataset: Annotated[str, typer.Option(help="What Quark calibrates on.")] = "pileval",
    num_calib_data: Annotated[int, typer.Option(help="Calibration samples.", min=1)] = 128,
    seq_len: Annotated[int, typer.Option(help="Tokens of a calibration sample.", min=1)] = 512,
    evaluation_intent: Annotated[Intent, typer.Option(help="How much Quark evaluates.")] = Intent.smoke,
    choose: Annotated[int | None, typer.Option(help="Number of the alternative to take.", min=1)] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Confirm without asking.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Plan to write [./quant_plan.json].")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the solver.", min=0, max=2**31 - 1)] = 0,
    time_limit: Annotated[float, typer.Option(help="Deterministic seconds for each solve.", min=0.0)] = 30.0,
    revision: RevisionOption = None,
    trust_remote_code: TrustOption = False,
    no_cache: NoCacheOption = False,
    profiles: ProfilesOption = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Plan how to quantize a model with AMD Quark under a memory budget."""
    if ctx.invoked_subcommand is not None:
        return
    from solver.cli.question import Question
    from solver.cli.session import Session

    question = Question(
        model=model,
        budget=budget,
        budget_scope=budget_scope.value,
        hardware=hardware,
        backend=backend,
        context=context,
        concurrency=concurrency,
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max_num_batched_tokens,
        tensor_parallel=tp,
        expert_parallel=expert_parallel,
        mtp=mtp.value,
        kv=None if kv is None else kv.value,
        algorithm=algorithm,
        exclude=tuple(exclude or ()),
        layers=tuple(layer or ()),
        pins=tuple(pin or ()),
        floors=tuple(floor or ()),
        scheme=scheme,
        force=force,
        allow_emulated=allow_emulated,
        granularity=granularity.value,
        max_overrides=max_overrides,
        max_schemes=max_schemes,
        min_decode_tps=min_decode_tps,
        alternatives=alternatives,
        faster=faster,
        diverse=diverse,
        goal=goal,
        calib_dataset=calib_dataset,
        num_calib_data=num_calib_data,
        seq_len=seq_len,
        evaluation_intent=evaluation_intent.value,
        seed=seed,
        time_limit=time_limit,
        revision=revision,
        trust_remote_code=trust_remote_code,
    )
    Session(
        question, profiles=profiles, cache=not no_cache, choose=choose, yes=yes, output=output, as_json=as_json
    ).run()
