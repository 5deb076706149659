"""The alternatives as one table of 80 columns."""

import math

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from solver.plan.document import Alternative, Answer, FrontPart, Provenance
from solver.plan.names import GUIDE
from solver.units import format_count, format_size, format_size_both

_TRIFLE = 1e-4


def percent_perplexity(delta_nll: float) -> str:
    """Return a loss in nats as the rise in perplexity: 0.01 -> `1.01 %`."""
    rise = 100 * math.expm1(delta_nll)
    return f"{rise:.2g} %" if rise < 100 else f"{rise:.0f} %"


def _plan(alternative: Alternative, *, recommended: bool) -> Text:
    # One name a line: a plan that is best in every way has five.
    name = alternative.name.replace(", ", ",\n   ")
    text = Text(f"{'>' if recommended else ' '}{alternative.id} {name}", style="bold")
    for name, share in alternative.scheme_shares.items():
        text.append(f"\n   {name} {share:.0%}" if share >= 0.005 else f"\n   {name} <1%", style="not bold")
    return text


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f}"


def _memory(alternative: Alternative) -> Text:
    bill = alternative.footprint
    if bill is None:
        return Text("not known")
    parts = {
        "weights": bill.weights_bytes,
        "cache": bill.kv_cache_bytes,
        "activ.": bill.activation_bytes,
        "runtime": bill.runtime_bytes,
    }
    width = max(len(_gigabytes(size)) for size in (bill.total_bytes, *parts.values()))
    text = Text(f"{_gigabytes(bill.total_bytes):>{width}} total", style="bold")
    for name, size in parts.items():
        text.append(f"\n{_gigabytes(size):>{width}} {name}", style="not bold dim")
    low = bill.total_bytes - bill.activation_bytes - bill.runtime_bytes
    high = low + bill.activation_high_bytes + bill.runtime_high_bytes
    low += bill.activation_low_bytes + bill.runtime_low_bytes
    text.append(f"\n{_gigabytes(low)} to {_gigabytes(high)}", style="not bold dim")
    return text


def _risk(alternative: Alternative) -> Text:
    if alternative.risk is None:
        return Text("not known")
    risk = alternative.risk
    text = Text(f"+{percent_perplexity(risk.delta_nll)}", style="bold")
    low, high = percent_perplexity(risk.low).removesuffix(" %"), percent_perplexity(risk.high)
    text.append(f"\n{low} to {high}", style="not bold dim")
    return text


def _settings(alternative: Alternative) -> str:
    lines = []
    if alternative.decode_seconds_per_token is not None:
        lines.append(f"{1000 * alternative.decode_seconds_per_token:.3g} ms/token")
    if alternative.prefill_seconds is not None:
        lines.append(f"{alternative.prefill_seconds:.3g} s prompt")
    overrides = alternative.overrides
    lines.append(f"{overrides} override{'' if overrides == 1 else 's'}")
    lines.append(f"KV cache {alternative.kv_cache_scheme or 'native'}")
    lines.append((alternative.algorithm or "no algorithm").replace(",", ",\n"))
    if alternative.proof is not None:
        gap = "" if alternative.proof.status == "optimal" else f", gap {alternative.proof.gap:.1%}"
        lines.append(f"{alternative.proof.status}{gap}")
    return "\n".join(lines)


def alternatives_table(answer: Answer) -> Table:
    """Return the table of all alternatives, the recommended one marked."""
    table = Table(box=box.SIMPLE_HEAD, show_lines=True, padding=(0, 1))
    for heading in ("plan", "GB on a device", "perplexity est.", "time est."):
        table.add_column(heading, overflow="fold")
    for item in answer.alternatives:
        plan = _plan(item, recommended=item.id == answer.recommended)
        table.add_row(plan, _memory(item), _risk(item), _settings(item))
    return table


def determinism_line(provenance: Provenance) -> str:
    """Return what an answer depends on, in one line."""
    workers = f"{provenance.workers} worker{'' if provenance.workers == 1 else 's'}"
    return (
        f"{provenance.tool} {provenance.tool_version}, profiles {provenance.profiles_sha256}, "
        f"OR-Tools {provenance.ortools_version}, seed {provenance.seed}, {workers}, limit {provenance.time_limit:g} s"
    )


_COARSER = {"uniform": "one scheme everywhere", "role": "deciding by role", "block": "deciding by block"}


def _price(price_nll: float) -> str:
    # What is less than a hundredth of a percent is below all that the prediction knows.
    return "nothing" if price_nll < _TRIFLE else f"+{percent_perplexity(price_nll)}"


def _print_simpler(answer: Answer, console: Console) -> None:
    """Print what simplicity costs at the same budget: by granularity, and by the rules asked for."""
    prices = [
        f"{_COARSER[part.granularity]} {_price(part.price_nll)}"
        for part in answer.simpler
        if part.price_nll is not None
    ]
    if prices:
        console.print(Text(f"Price of simplicity at this budget: {', '.join(prices)} perplexity (--granularity)."))
    if answer.price_nll is not None:
        console.print(Text(f"What you ask of the plan's form costs {_price(answer.price_nll)} perplexity here."))


def _print_what_ended_it(front: FrontPart, console: Console) -> None:
    if front.interrupted:
        console.print(Text("An interrupt ended the search: other plans may be better.", style="yellow"))
    if front.limited:
        text = "The time limit ended a part of the search; `--time-limit` allows more."
        console.print(Text(text, style="yellow"))


def print_answer(answer: Answer, console: Console) -> None:
    """Print the question as understood, the alternatives, and what they rest on."""
    model, service = answer.model, answer.service
    size = "" if model.elements_total is None else f", {format_count(model.elements_total)} parameters"
    console.print(Text.assemble((model.model_path, "bold"), f"  {model.model_type}{size}"))
    if service is not None:
        scope = "weights of one device" if service.budget_scope == "weights" else "one device"
        budget = format_size_both(service.budget_bytes)
        console.print(f"{service.hardware_title}, budget {budget} for {scope}", markup=False)
    console.print(Text(f"Goal {answer.goal.name}: {answer.goal.summary}."))
    if model.unquantized_total_bytes is not None:
        held = "Unquantized" if model.stored is None else "As it is stored"
        console.print(f"{held} it takes {format_size(model.unquantized_total_bytes)} there.")
    console.print(alternatives_table(answer))
    if answer.front is not None:
        proven = "all that none beats" if answer.front.complete else "proven, not all that there are"
        exact = f"losses are rounded by {answer.front.rounding_nats:.0e} nats at most"
        console.print(f"Picked from {answer.front.points:,} plans, {proven} in bytes and predicted loss; {exact}.")
        if answer.front.time_levels > 1:
            console.print(f"By speed: the least loss at {answer.front.time_levels} limits on the decoding step.")
        _print_what_ended_it(answer.front, console)
        _print_simpler(answer, console)
    for option in answer.alternatives:
        if GUIDE in option.name.split(", "):
            console.print(Text.assemble(("guide", "bold"), f"  plan {option.id}: {option.reason}"))
    for item in answer.missing:
        console.print(Text.assemble(("missing", "yellow"), f"  {item}"))
    for item in answer.assumptions:
        console.print(Text(f"assumed  {item}", style="dim"))
    console.print(Text(determinism_line(answer.provenance), style="dim"))
