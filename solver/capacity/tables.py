"""A placed fleet as tables of 80 columns."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from solver.capacity.document import CapacityPlan, Device, Headroom, PlacedNode, ServedModel
from solver.report.alternatives import percent_perplexity

_MOST_ROWS = 40


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), collapse_padding=True)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number == 0 else "right", overflow="fold")
    return table


def _speed(model: ServedModel) -> str:
    speed = model.tokens_per_second
    written = f"{speed:,.0f}" if speed >= 100 else f"{speed:.3g}"
    return written if model.speed_source == "measured" else f"{written} est."


def _model(model: ServedModel) -> tuple[str | Text, ...]:
    plan = model.plan
    name = Text(model.name, style="bold")
    name.append(f"\n{plan.schemes.replace('+', ' + ')}", style="not bold")
    name.append(f"\ncache {plan.kv_cache_scheme or 'native'}", style="not bold")
    spare = model.replicas - model.replicas_needed
    return (
        name,
        model.hardware,
        str(model.tensor_parallel),
        f"{model.replicas}" + (f"\n{spare} spare" if spare else ""),
        str(model.concurrency),
        str(model.devices),
        f"{plan.footprint.total_bytes / 1e9:.2f}",
        _speed(model),
        f"+{percent_perplexity(plan.risk.delta_nll)}",
    )


def models_table(plan: CapacityPlan) -> Table:
    """Return one row for each model: its plan, and what its replicas are."""
    table = _table(
        "model, plan", "hardware", "tp", "repli-\ncas", "slots\neach", "devi-\nces", "GB on\neach",
        "tokens/s\na user", "perplex-\nity est.",
    )  # fmt: skip
    for model in plan.models:
        table.add_row(*_model(model))
    return table


def _held(device: Device) -> str:
    return ", ".join(f"{shard.model} {shard.replica}" for shard in device.shards)


def _alike(node: PlacedNode) -> list[tuple[int, int, Device]]:
    """Return the devices of a node, neighbours that hold the same as one range."""
    rows: list[tuple[int, int, Device]] = []
    for device in node.in_use:
        if rows and rows[-1][2].shards == device.shards and rows[-1][1] + 1 == device.number:
            rows[-1] = rows[-1][0], device.number, rows[-1][2]
        else:
            rows.append((device.number, device.number, device))
    return rows


def nodes_table(plan: CapacityPlan) -> tuple[Table, int]:
    """Return what lies where, and how many rows were left out."""
    table = _table("node", "device", "replicas", "GB used", "of", "time needed")
    table.columns[2].justify = "left"
    rows = [(node, *row) for node in plan.nodes for row in _alike(node)]
    for node, first, last, device in rows[:_MOST_ROWS]:
        table.add_row(
            f"{node.name} {node.number}" if first == node.in_use[0].number else "",
            str(first) if first == last else f"{first}-{last}",
            _held(device),
            f"{device.used_bytes / 1e9:.2f}",
            f"{device.usable_bytes / 1e9:.2f}",
            f"{device.busy:.0%}",
        )
    return table, max(0, len(rows) - _MOST_ROWS)


def _more(room: Headroom) -> str:
    name = "all together" if room.model is None else room.model
    least = "at least " if room.capped or not room.proven else ""
    return f"{name} {least}{room.percent / 100:g} times"


def _summary(plan: CapacityPlan) -> str:
    price = "" if plan.price_per_hour is None else f", {plan.price_per_hour:g} an hour"
    text = (
        f"It fits: {plan.devices_used} of {plan.devices_total} devices on {plan.nodes_used} of {plan.nodes_total} nodes"
    )
    first = plan.stages[0]
    if plan.status == "optimal":
        return f"{text}{price}; optimal among {plan.candidates} plans of replicas."
    if first.optimal:
        return f"{text}{price}; that is proven, the risk is not proven least."
    return f"{text}{price}; feasible, {first.objective} {first.value}, proven at least {first.bound}."


def _lost(plan: CapacityPlan) -> str:
    if plan.survives:
        nodes = "node" if plan.survives == 1 else f"{plan.survives} nodes"
        return f"Any {nodes} may be lost: what is left carries the traffic."
    return "If a node with replicas is lost, the traffic is not carried (--survive 1 asks for spares)."


def _memory(plan: CapacityPlan) -> str | None:
    """Return what each replica takes of a device's memory, where devices are shared: stacks take most by default."""
    shared = {
        shard.model
        for node in plan.nodes
        for device in node.in_use
        for shard in device.shards
        if len(device.shards) > 1
    }
    if not shared:
        return None
    shares = ", ".join(f"{model.name} {model.memory_share:.4f}" for model in plan.models if model.name in shared)
    return f"Share of a device's memory to serve with, where devices are shared: {shares}."


def print_capacity(plan: CapacityPlan, console: Console) -> None:
    """Print whether it fits, the models, the nodes, how much more would fit, and what comes next."""
    console.print(Text(_summary(plan), style="bold"))
    console.print(models_table(plan))
    nodes, left_out = nodes_table(plan)
    console.print(nodes)
    if left_out:
        console.print(f"... and {left_out} rows more (--json has all)")
    memory = _memory(plan)
    if memory is not None:
        console.print(Text(memory))
    console.print(Text(_lost(plan)))
    if plan.headroom:
        console.print(Text(f"Traffic that still fits: {', '.join(map(_more, plan.headroom))}."))
    for item in plan.assumptions:
        console.print(Text(f"assumed  {item}", style="dim"))
    source = plan.provenance
    console.print(
        Text(
            f"{source.tool} {source.tool_version}, profiles {source.profiles_sha256}, OR-Tools "
            f"{source.ortools_version}, seed {source.seed}, 1 worker, limit {source.time_limit:g} s",
            style="dim",
        )
    )
    for model in plan.models:
        console.print(Text(f"Next: {model.plan.command}", style="dim"), soft_wrap=True)
