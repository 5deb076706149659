"""Plans that AMD Quark carries out, against what they say of every layer and of bytes; writes `docs/plans.md`."""

import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from bench.registry import Row, Skipped, Spec, register
from solver.catalog import Catalog
from tests.quark.carried import Carried
from tests.quark.carried_plans import CASES, Case, Workshop
from tests.quark.checkpoints import published_weights

NAME = "quark-plans"
DOCUMENT = Path(__file__).parent.parent / "docs" / "plans.md"
COLUMNS = ("model", "plan", "schemes", "patterns", "layers as planned", "predicted B", "exported B", "difference")

_HEAD = """# Plans that Quark carried out

Written by `python -m bench {name}` with {versions}, on a CPU.

Each row is a plan that `solve` made and confirmed, exported with `--to quark-python`, and run: the script loads a
checkpoint in bfloat16, calibrates on eight lines of words, quantizes and exports. *Patterns* are those beside the
template's own excludes. A layer is as planned if its tensors have the types and shapes of its scheme, and the exported
`config.json` says of it what the scheme is. Bytes are those of all tensors in the safetensors files; the prediction is
the bill's, with the scales that gptq leaves in float32.

smollm2 is SmolLM2-135M-Instruct with {weights}, *two blocks* of it have its widths; the others have the
module names of published models in a megabyte each. gpt_oss comes as it is published, with MXFP4 experts, and in 16
bits. [exports.md](exports.md) compares the bytes of every scheme alone, [patterns.md](patterns.md) what vLLM reads.

"""


def _schemes(case: Case, workshop: Workshop) -> str:
    plan = workshop.plan(case)
    chosen = next(item for item in plan.alternatives if item.id == plan.chosen)
    shares = sorted(chosen.scheme_shares.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {share:.0%}" for name, share in shares)


def row(case: Case, workshop: Workshop, found: Carried) -> tuple[str, ...]:
    """Return the cells of one plan."""
    wrong = {line.split(":")[0] for line in found.config}
    wrong |= {line.split(":")[0].rpartition(".")[0] for line in found.tensors}
    return (
        case.model,
        case.kind,
        _schemes(case, workshop),
        str(found.patterns),
        f"{found.layers - len(wrong)} of {found.layers}",
        str(found.predicted_bytes),
        str(found.exported_bytes),
        str(found.difference),
    )


def document(rows: list[tuple[str, ...]]) -> str:
    """Return the table as the documentation shows it."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("amd-quark", "torch", "transformers"))
    weights = "published weights" if published_weights() is not None else "random weights"
    head, *body = (f"| {' | '.join(cells)} |" for cells in (COLUMNS, *rows))
    lines = (head, f"|{'---|' * 3}{'--:|' * 5}", *body)
    return _HEAD.format(name=NAME, versions=versions, weights=weights) + "\n".join(lines) + "\n"


def run() -> list[Row]:
    """Carry all plans out, compare them, and write the document."""
    if find_spec("quark") is None:
        raise Skipped("amd-quark is not installed")
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder), Catalog())
        failed = {case: end["error"] for case, end in workshop.carry_out(CASES).items() if end["error"] is not None}
        if failed:
            raise RuntimeError("; ".join(f"{case.name}: {error}" for case, error in failed.items()))
        found = {case: workshop.compare(case) for case in CASES}
        rows = [row(case, workshop, item) for case, item in found.items()]
    DOCUMENT.write_text(document(rows), encoding="utf-8")
    return [
        Row(f"{case.model}, {case.kind}", item.exported_bytes, "predicted", item.predicted_bytes, exact=True)
        for case, item in found.items()
    ]


register(Spec(NAME, "Does Quark write what a plan says, to the byte?", "B", run))
