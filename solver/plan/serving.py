"""What has to hold where a plan is served: notes on its schemes, the stack's environment, and the next steps."""

from collections.abc import Iterable, Iterator, Sequence

from solver.catalog.backend import SupportRow
from solver.intake.analysis import Risk as RiskNote
from solver.intake.inventory import LayerFamily
from solver.plan.context import Context
from solver.plan.document import ModelPart, ServicePart
from solver.rules.options import support_of
from solver.units import format_size

Used = Sequence[tuple[LayerFamily, str]]
"""Families with the names of their schemes, native left out."""


def _rows(context: Context, used: Used) -> Iterator[tuple[str, SupportRow]]:
    """Yield the backend's verdict on every scheme in use, by layer family."""
    for family, name in used:
        role = context.catalog.roles.named(family.role)
        scheme = context.catalog.schemes.get(name)
        row = support_of(context.service, scheme, role, context.analysis.model.model_type)
        if row is not None:
            yield name, row


def environment(context: Context, used: Used) -> dict[str, str]:
    """Return the environment variables that the stack needs for the chosen schemes."""
    found = {variable: value for _, row in _rows(context, used) for variable, value in row.environment.items()}
    return dict(sorted(found.items()))


def _needs(context: Context, name: str, row: SupportRow) -> Iterator[RiskNote]:
    title = context.service.backend.title
    if row.condition:
        yield RiskNote(
            severity="low",
            message=f"{title} needs for {name}: {row.condition}",
            recovery_hint="set it where the plan is served",
        )
    if row.environment:
        yield RiskNote(
            severity="low",
            message=f"{title} needs for {name}: {assignments(row.environment)}",
            recovery_hint=f"`solve export --to {context.service.backend.name}` writes it",
        )


def assignments(variables: dict[str, str]) -> str:
    """Return environment variables as a shell assigns them."""
    return " ".join(f"{variable}={value}" for variable, value in variables.items())


def serving_notes(context: Context, used: Used, dequantized_bytes: int) -> list[RiskNote]:
    """Return what the serving stack needs for the chosen schemes, and what it only emulates, each once.

    `dequantized_bytes` are those of the buffer that emulation takes.
    """
    title = context.service.backend.title
    notes: dict[RiskNote, None] = {}
    for name, row in _rows(context, used):
        if row.support == "emulated":
            emulated = RiskNote(
                severity="medium",
                message=f"{title} emulates {name}: it saves memory, decodes slower than native, and takes a buffer of "
                f"{format_size(dequantized_bytes)} for the largest module in the model's own type",
                recovery_hint="leave --allow-emulated out for kernels that are native",
            )
            notes[emulated] = None
        notes.update(dict.fromkeys(_needs(context, name, row)))
    notes.update(dict.fromkeys(_encoder_notes(context)))
    return list(notes)


def _encoder_notes(context: Context) -> Iterable[RiskNote]:
    """Return that the activations of a multimodal encoder are not in the bill, for stacks that run it."""
    backend = context.service.backend
    if backend.serve is None or not any(group.part == "vision" for group in context.inventory.others):
        return
    alone = f", or serve text alone with {backend.serve.text_only}" if backend.serve.text_only else ""
    yield RiskNote(
        severity="medium",
        message=f"the activations of the vision tower are not counted: {backend.title} runs its encoder on the largest "
        "image before it shares out memory",
        recovery_hint=f"leave room in the budget{alone}",
    )


def next_steps(
    model: ModelPart, service: ServicePart | None, algorithm: str | None, file: str = "PLAN"
) -> tuple[str, ...]:
    """Return the commands that carry a plan out: quantize, then serve where the stack has a command for that.

    quark-cli stops without a template of Quark's, or where that lacks settings of one of the `algorithm`s, which are
    joined by commas; the script brings its own.
    """
    algorithms = set(algorithm.split(",")) if algorithm else set()
    configured = model.template_builtin and algorithms <= set(model.template_algorithms)
    quantize = "quark-cli" if configured else "quark-python"
    steps = [f"solve export {file} --to {quantize}"]
    if service is not None and service.export_target is not None:
        steps.append(f"solve export {file} --to {service.export_target}")
    return tuple(steps)
