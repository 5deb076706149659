"""`solve explain`: why not this scheme for this layer, and what it may have."""

from typing import Annotated, Any

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
from solver.cli.solve import Kv, Mtp, Scope


def explain(
    model: Annotated[str, typer.Argument(help="A model as for `solve`, or a quant_plan.json, whose request it takes.")],
    layer: Annotated[str | None, typer.Option(help="Path of a layer, glob over paths, or name of a role.")] = None,
    scheme: Annotated[
        str | None, typer.Option(help="Scheme to ask about, or native; without it, all are listed.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="Asked about without --layer; beside it, the plan's. awq,smoothquant, or none.")
    ] = None,
    kv: Annotated[Kv | None, typer.Option(help="KV cache: asked about without --layer; beside it, the plan's.")] = None,
    hardware: HardwareOption = None,
    budget: Annotated[
        str | None, typer.Option(help="Bytes of one device, 40GB or 40GiB; by default what the stack may use.")
    ] = None,
    budget_scope: Annotated[
        Scope | None, typer.Option(help="Bound everything on the device [total], or weights alone.")
    ] = None,
    backend: BackendOption = None,
    context: ContextOption = None,
    concurrency: Annotated[int | None, typer.Option(help="Sequences in service at once.", min=1, max=10**6)] = None,
    tp: Annotated[int | None, typer.Option(help="Devices that share each layer.", min=1, max=4096)] = None,
    expert_parallel: ExpertParallelOption = False,
    mtp: Annotated[Mtp | None, typer.Option(help="Multi-token-prediction layers: count them, or not.")] = None,
    allow_emulated: Annotated[
        bool, typer.Option("--allow-emulated", help="Allow schemes that the stack only emulates: no speed-up.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")] = False,
    revision: RevisionOption = None,
    trust_remote_code: TrustOption = False,
    no_cache: NoCacheOption = False,
    profiles: ProfilesOption = None,
) -> None:
    """Explain why layers may not have a scheme, what they may have, and what insisting on it costs."""
    from solver.cli.asking import Asking, run
    from solver.cli.options import parse_algorithms
    from solver.units import parse_size, parse_tokens

    def typed() -> dict[str, Any]:
        fields = {
            "hardware": hardware,
            "budget_bytes": None if budget is None else parse_size(budget),
            "budget_scope": None if budget_scope is None else budget_scope.value,
            "backend": backend,
            "context": None if context is None else parse_tokens(context),
            "concurrency": concurrency,
            "tensor_parallel": tp,
            "expert_parallel": expert_parallel or None,
            "mtp": None if mtp is None else mtp.value,
            "allow_emulated": allow_emulated or None,
            "trust_remote_code": trust_remote_code or None,
        }
        return {name: value for name, value in fields.items() if value is not None}

    asking = Asking(
        model=model,
        layer=layer,
        scheme=scheme,
        algorithms=parse_algorithms(algorithm),
        kv=None if kv is None else kv.value,
        typed=typed,
        revision=revision,
        cache=not no_cache,
        profiles=profiles,
        as_json=as_json,
    )
    run(asking)
