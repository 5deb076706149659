"""Every scheme on every architecture: patterns, what Quark makes of them, and exported bytes; writes `docs/schemes.md`.

The answers are kept in `tests/data/quark_schemes.csv`, and the tests hold today's plans against them.
"""

import csv
import logging
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.loaders.exported import quark_differences
from bench.loaders.plans import ARCHITECTURES, CATALOG, Plan, analysis, plan, template, uniform
from bench.registry import Row, Skipped, Spec, register
from solver.catalog import NATIVE
from tests.quark.architectures import small_config
from tests.quark.exports import export, predicted_bytes, size_of
from tests.quark.real import config_of_patterns, model_of_quark

NAME = "quark-schemes"
_ROOT = Path(__file__).parent.parent
DOCUMENT = _ROOT / "docs" / "schemes.md"
ANSWERS = _ROOT / "tests" / "data" / "quark_schemes.csv"
_TOKENS = (8, 16)
"""Sequences and their length to calibrate with: a static scale of an expert without tokens would stay in float32."""
NOT_RUN = {"llama4": "transformers stops in the forward pass of its multimodal class without an image"}
"""Architectures that cannot be calibrated here, by what stands in the way."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What Quark made of a plan with one scheme, as far as it goes, on a small model of an architecture."""

    architecture: str
    scheme: str
    patterns: int
    """Beside the template's own excludes."""
    linears: int
    quantized: int
    as_planned: int
    """Linears that Quark resolves as they are planned."""
    exported_bytes: int


def one_scheme(architecture: str, scheme: str) -> Plan | None:
    """Return the plan that gives a scheme to all that may have it; None if nothing may."""
    return plan(architecture, f"all {scheme}", uniform(scheme))


def cases() -> Iterator[tuple[str, str, Plan]]:
    """Yield architecture, scheme and plan of all that Quark can write."""
    for architecture in (name for name in ARCHITECTURES if name not in NOT_RUN):
        for scheme in CATALOG.schemes:
            found = None if scheme.not_exportable else one_scheme(architecture, scheme.name)
            if found is not None and set(found.schemes.values()) <= {scheme.name, NATIVE}:
                yield architecture, scheme.name, found


def predicted(found: Plan) -> int:
    """Return the bytes that the planner expects of an export."""
    inventory = analysis(found.architecture).inventory
    assert inventory is not None
    return predicted_bytes(inventory, found.schemes, (), CATALOG)


def read_answers() -> list[Answer]:
    """Return the answers that are kept."""
    with ANSWERS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Answer(**{item.name: row[item.name] if item.type is str else int(row[item.name]) for item in fields(Answer)})
        for row in rows
    ]


def _random_model(architecture: str) -> Any:
    import torch
    import transformers
    from quark.torch.utils.llm import preprocess_for_quantization

    config = small_config(architecture)
    torch.manual_seed(0)
    built = getattr(transformers, config.architectures[0])._from_config(config, dtype=torch.bfloat16).eval()
    preprocess_for_quantization(built)
    return built


def _answer(scheme: str, found: Plan, model: Any) -> Answer:
    """Return what Quark says of a plan, and writes by it."""
    wrong = quark_differences(found, model_of_quark(found.architecture))
    config = config_of_patterns(found.patterns, template(found.architecture).model_type)
    with tempfile.TemporaryDirectory() as folder:
        exported = size_of(export(model, config, Path(folder), _TOKENS))
    quantized = sum(item != NATIVE for item in found.schemes.values())
    linears = len(found.schemes)
    return Answer(found.architecture, scheme, found.written, linears, quantized, linears - len(wrong), exported)


def document(answers: list[tuple[Answer, int]]) -> str:
    """Return the table of answers, each with the bytes that were predicted, as the documentation shows it."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("amd-quark", "torch", "transformers"))
    rows = [
        f"| {item.architecture} | {item.scheme} | {item.quantized} of {item.linears} | {item.patterns} "
        f"| {item.as_planned} of {item.linears} | {guess} | {item.exported_bytes} | {item.exported_bytes - guess} |"
        for item, guess in answers
    ]
    return f"""# Every scheme on every architecture

Written by `python -m bench {NAME}` with {versions}, on a CPU.

Each row is a plan that gives one scheme to every layer that may have it, on a small model of an architecture (real
module names, a few blocks, random weights): how many linears it quantizes, the patterns beside the template's own
excludes, for how many linears Quark's own resolution finds what is planned, and the bytes of all tensors that Quark
then wrote, beside the planner's prediction. Layers that a scheme cannot pack, and those that vLLM does not read by
patterns, stay native. Schemes that no layer of an architecture can take, or that Quark cannot write, have no row, and
{" and ".join(f"{name} has none ({reason})" for name, reason in NOT_RUN.items())}.

| architecture | scheme | quantized | patterns | Quark | predicted B | exported B | difference |
|---|---|--:|--:|--:|--:|--:|--:|
""" + "".join(f"{row}\n" for row in rows)


def run() -> list[Row]:
    """Have Quark carry all plans out, keep its answers, and write the document."""
    if find_spec("quark") is None:
        raise Skipped("amd-quark is not installed")
    logging.disable(logging.INFO)  # Quark reports each step of each export on the terminal.
    answers, model = [], ("", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for architecture, scheme, found in cases():
            model = model if model[0] == architecture else (architecture, _random_model(architecture))
            answers.append((_answer(scheme, found, model[1]), predicted(found)))
    logging.disable(logging.NOTSET)
    with ANSWERS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(item.name for item in fields(Answer))
        writer.writerows(astuple(answer) for answer, _ in answers)
    DOCUMENT.write_text(document(answers), encoding="utf-8")
    return [
        Row(f"{item.architecture}, {item.scheme}", item.exported_bytes, "predicted", guess, exact=True)
        for item, guess in answers
    ]


register(Spec(NAME, "Does Quark write every scheme on every architecture as predicted?", "B", run))
