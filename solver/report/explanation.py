"""The answer of `solve explain` in 80 columns."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from solver.catalog.rule import Yields
from solver.plan.explanation import (
    Explanation,
    LayerPart,
    Outcome,
    PlanPart,
    RuleVerdict,
    SchemeAnswer,
    SettingAnswer,
    UnitPart,
)
from solver.report.alternatives import percent_perplexity
from solver.report.scheme_table import scheme_table
from solver.units import format_size, format_size_both

_YIELDS: dict[Yields, str] = {"nothing": "nothing", "force": "--force", "request": "naming it"}

Line = tuple[str, str]
"""A label and what is said under it."""


def _layer(part: LayerPart) -> Line:
    whole, shard = (part.out_features, part.in_features), (part.shard_out_features, part.shard_in_features)
    held = "whole on each device" if whole == shard else f"{shard[0]} x {shard[1]} on one device"
    count = "" if part.layers == 1 else f", {part.layers} layers"
    return "layer", f"{part.name}, role {part.role}{count}: {whole[0]} x {whole[1]} (outputs x inputs), {held}"


def _unit(part: UnitPart, stack: str) -> Iterator[Line]:
    more = "" if part.units == 1 else f" and {part.units - 1} more like it"
    if part.fused:
        leaves = ", ".join(dict.fromkeys(name.rpartition(".")[2] for name in part.members))
        why = f"{leaves} have one scheme, because {stack} loads them as one module (rule fused-groups-share-scheme)"
    else:
        why = "decided by itself"
    yield "unit", f"{part.name}{more}: {why}"
    if part.kv_patterns:
        yield (
            "",
            f"with an fp8 KV cache, all layers that {' or '.join(part.kv_patterns)} matches have one scheme "
            "(rule kv-layers-share-scheme)",
        )
    if part.native_because is not None:
        yield "native", f"unasked: {part.native_because}"


def _rules(against: Sequence[RuleVerdict]) -> Iterator[Line]:
    """Yield each rule with all that it says of these layers."""
    by_rule: dict[str, list[RuleVerdict]] = {}
    for verdict in against:
        by_rule.setdefault(verdict.rule, []).append(verdict)
    yield "", f"refused by {len(by_rule)} rule{'s' * (len(by_rule) != 1)}:"
    for rule, found in by_rule.items():
        yield "", f"- {rule} ({found[0].family}): {'; '.join(verdict.sentence for verdict in found)}."
        yield "", f"  It yields to {_YIELDS[found[0].yields_to]}; source: {found[0].source}"


def _given(given: dict[str, int]) -> str:
    total = sum(given.values())
    if len(given) == 1:
        return next(iter(given))
    ordered = sorted(given.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count} of {total}" for name, count in ordered)


def _numbers(plan: PlanPart) -> str:
    time = plan.decode_seconds_per_token
    parts = [
        f"{plan.total_bytes / 1e9:.3f} GB on a device",
        f"perplexity +{percent_perplexity(plan.delta_nll)}",
        *([] if time is None else [f"{1000 * time:.3g} ms/token"]),
        f"KV cache {plan.kv_cache_scheme or 'native'}",
        plan.algorithm or "no algorithm",
    ]
    return ", ".join(parts) + ("" if plan.proof == "optimal" else " (not proven)")


def _optimum(optimum: Outcome) -> Line:
    if optimum.plan is None:
        return "optimum", f"none: {optimum.why}"
    given = f"{_given(optimum.plan.given)} here; " if optimum.plan.given else ""
    return "optimum", f"{given}{_numbers(optimum.plan)}"


def _difference(plan: PlanPart, optimum: PlanPart) -> str:
    size, loss = plan.total_bytes - optimum.total_bytes, plan.delta_nll - optimum.delta_nll
    # Differences of both signs: a scheme that rules leave out may well predict less.
    return f"against the optimum: {'+' if size >= 0 else ''}{format_size(size)}, predicted loss {loss:+.2g} nats"


def _insisted(what: str, needs: Yields | None, insisted: Outcome | None, optimum: Outcome) -> Iterator[Line]:
    if insisted is None:
        yield "insisted", f"{what} cannot be insisted on: a rule above yields to nothing"
        return
    if insisted == optimum:
        return
    with_force = ", with --force" if needs == "force" else ""
    if insisted.plan is None:
        yield "insisted", f"{what}{with_force}: no plan. {insisted.why}"
        return
    yield "insisted", f"{what}{with_force}: the least risky plan is then {_numbers(insisted.plan)}"
    if optimum.plan is not None:
        yield "", _difference(insisted.plan, optimum.plan)


def _scheme(answer: SchemeAnswer, optimum: Outcome) -> Iterator[Line]:
    given = {} if optimum.plan is None else optimum.plan.given
    chosen = f"chosen for {given.get(answer.scheme, 0)} of these {sum(given.values())} layers"
    if answer.refusals:
        yield from _labelled(answer.scheme, _rules(answer.refusals))
    elif optimum.plan is None:
        yield answer.scheme, "no rule refuses it"
    else:
        yield answer.scheme, f"no rule refuses it, and it is {chosen if answer.scheme in given else 'not chosen'}"
    if answer.beaten_by is not None and answer.scheme not in given:
        yield "", f"{answer.beaten_by} is no worse on these layers in bytes, predicted loss and decoding time"
    yield _optimum(optimum)
    yield from _insisted(answer.scheme, answer.needs, answer.insisted, optimum)


def _labelled(label: str, lines: Iterator[Line]) -> Iterator[Line]:
    yield label, next(lines)[1]
    yield from lines


def _setting(answer: SettingAnswer, optimum: Outcome) -> Iterator[Line]:
    if answer.refusals:
        yield from _labelled(answer.flag, _rules(answer.refusals))
    else:
        yield answer.flag, "no rule refuses it"
    if not answer.chosen_unasked:
        yield "", "the planner chooses it only when it is named"
    if optimum.plan is not None:
        yield "", "the optimum uses it" if answer.used else "the optimum does not use it"
    yield from _insisted(answer.flag, answer.needs, answer.insisted, optimum)


def _facts(answer: Explanation) -> Iterator[Line]:
    yield from (_layer(part) for part in answer.layers)
    for part in answer.units:
        yield from _unit(part, answer.service.backend)
    if answer.written is not None:
        yield "plan", f"the plan that was read gives them {_given(answer.written)}"
    if answer.scheme is not None:
        yield from _scheme(answer.scheme, answer.optimum)
    else:
        yield _optimum(answer.optimum)
    for setting in answer.settings:
        yield from _setting(setting, answer.optimum)


def _grid(lines: Iterator[Line]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(overflow="fold", max_width=24)
    grid.add_column(overflow="fold")
    for label, text in lines:
        grid.add_row(Text(label, style="bold"), Text(text))
    return grid


def print_explanation(answer: Explanation, console: Console) -> None:
    """Print what the layers are, what stands against the scheme or setting, and what insisting costs."""
    service = answer.service
    console.print(Text.assemble((answer.model, "bold"), f"  {answer.model_type}"))
    scope = "weights of one device" if service.budget_scope == "weights" else "one device"
    console.print(
        f"{service.hardware_title}, {service.backend} {service.backend_version}, tp {service.tensor_parallel}, "
        f"context {service.context}, budget {format_size_both(service.budget_bytes)} for {scope}",
        markup=False,
    )
    console.print()
    console.print(_grid(_facts(answer)))
    if answer.schemes:
        console.print(scheme_table(answer.schemes, answer.optimum.plan.given if answer.optimum.plan else {}))
        console.print(Text("> in the optimum; never, forced, named: what it takes to have it", style="dim"))
    for item in answer.assumptions:
        console.print(Text(f"assumed  {item}", style="dim"))
