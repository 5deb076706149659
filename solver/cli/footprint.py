"""`solve footprint`: the whole bill, without a plan."""

from typing import TYPE_CHECKING, Annotated

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
from solver.cli.solve import Kv, Mtp

if TYPE_CHECKING:
    from solver.api import FootprintReport


def _flags(context: typer.Context, leave: tuple[str, ...]) -> str:
    """Return the flags that were given and that `solve` has too, as they are typed."""
    given = []
    for parameter in context.command.params:
        name = parameter.name or ""
        value, source = context.params[name], context.get_parameter_source(name)
        if name in leave or source is None or source.name != "COMMANDLINE":
            continue
        given.append(parameter.opts[0] if value is True else f"{parameter.opts[0]} {getattr(value, 'value', value)}")
    return " ".join(given)


def _next_step(context: typer.Context, report: "FootprintReport", model: str, hardware: str | None) -> str:
    """Return the command to go on with, or why there is none."""
    machine = f"{model} --hardware {hardware}"
    flags = _flags(context, leave=("model", "hardware", "pp", "as_json"))
    if not report.plannable:
        return f"No layer may have a scheme here. Why: solve explain {machine} --layer '*'"
    if report.pipeline_stages > 1:
        return f"`solve` plans without pipeline stages. As one stage: solve {machine} {flags}".rstrip()
    budget = "" if "--budget" in flags else " --budget 40GB"
    return f"Next: solve {machine} {flags}".rstrip() + budget


def footprint(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(help="A config.json, a checkpoint's folder, a bundled model or a hub id.")],
    hardware: HardwareOption = None,
    budget: Annotated[
        str | None, typer.Option(help="Bytes of one device, 40GB or 40GiB; by default what the stack may use.")
    ] = None,
    backend: BackendOption = None,
    context: ContextOption = None,
    concurrency: Annotated[int, typer.Option(help="Sequences in service at once.", min=1, max=10**6)] = 1,
    tp: Annotated[int, typer.Option(help="Devices that share each layer.", min=1, max=4096)] = 1,
    pp: Annotated[int, typer.Option(help="Pipeline stages, each of --tp devices.", min=1, max=4096)] = 1,
    expert_parallel: ExpertParallelOption = False,
    mtp: Annotated[Mtp, typer.Option(help="Multi-token-prediction layers: count them, or not.")] = Mtp.drop,
    kv: Annotated[Kv, typer.Option(help="KV cache.")] = Kv.none,
    allow_emulated: Annotated[
        bool, typer.Option("--allow-emulated", help="List schemes too that the stack only emulates.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")] = False,
    revision: RevisionOption = None,
    trust_remote_code: TrustOption = False,
    no_cache: NoCacheOption = False,
    profiles: ProfilesOption = None,
) -> None:
    """Print what a model takes in service: as stored, and under each scheme; and what fits at most."""
    from solver import api
    from solver.api import PlanRequest, to_json
    from solver.catalog import Catalog
    from solver.cli.machine import settle_hardware, tell
    from solver.report.console import answers, messages
    from solver.report.footprints import print_footprints
    from solver.units import parse_size, parse_tokens

    catalog = Catalog(profiles)
    settled = settle_hardware(hardware, catalog)
    notes = settled.notes(settled.hardware, tp * pp, catalog)
    request = PlanRequest(
        model=model,
        hardware=settled.hardware,
        notes=notes,
        budget_bytes=None if budget is None else parse_size(budget),
        backend=backend,
        context=None if context is None else parse_tokens(context),
        concurrency=concurrency,
        tensor_parallel=tp,
        expert_parallel=expert_parallel,
        mtp=mtp.value,
        kv_cache_scheme=kv.value,
        allow_emulated=allow_emulated,
        trust_remote_code=trust_remote_code,
    )
    if not as_json:
        tell(notes)
    with messages().status(f"analysing {model}"):
        analysis = api.analyze(
            model, catalog=catalog, revision=revision, trust_remote_code=trust_remote_code, cache=not no_cache
        )
    report = api.footprints(request, analysis, catalog=catalog, pipeline_stages=pp)
    if as_json:
        typer.echo(to_json(report.model_dump(mode="json")), nl=False)
        return
    print_footprints(report, answers())
    answers().print(_next_step(ctx, report, model, settled.hardware), soft_wrap=True, markup=False, style="dim")
