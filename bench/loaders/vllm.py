"""vLLM's own reader against the planner: for every plan, each layer must get the keys and the method of its scheme.

`SOLVER_VLLM_PYTHON` names an interpreter with vLLM 0.33. Its verdicts are kept in tests/data/vllm_verdicts.json, which
the tests replay, and the table of docs/patterns.md is made from them.
"""

import json
import logging
import os
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.kv_allocator import INTERPRETER
from bench.loaders.exported import request
from bench.loaders.plans import ARCHITECTURES, CATALOG, STACK, Plan, plans, template
from bench.loaders.verdicts import DATA, Architecture, Read, Verdict, home, read, write
from bench.registry import Row, Skipped, Spec, register
from solver.catalog import NATIVE
from solver.rules.readers import reader_of

NAME = "vllm-loader"
DRIVER = Path(__file__).parent.parent / "vllm_quark.py"
VERDICTS = DATA / "vllm_verdicts.json"


def expected(scheme: str, *, experts: bool) -> Verdict | None:
    """Return what the backend's profile says a scheme becomes; None if the stack refuses it."""
    reader = CATALOG.backends.get(STACK).reader
    assert reader is not None
    for row in reader.methods:
        method = row.experts if experts else row.dense
        if scheme in row.schemes and method is not None:
            return Verdict(row.weight, row.activation, method)
    return None


def differences(plan: Plan, homes: dict[str, str | None], found: Read) -> Iterator[str]:
    """Yield the layers that the stack reads otherwise than they are planned, each with both."""
    for name, scheme in plan.schemes.items():
        into = home(homes, name)
        if into is None:
            if scheme != NATIVE:
                yield f"{name}: planned {scheme}, not loaded"
            continue
        verdict = found.layers.get(into, Verdict(method="UnquantizedLinearMethod"))
        right = verdict.native if scheme == NATIVE else verdict == expected(scheme, experts=".experts." in name)
        if not right:
            yield f"{name}: planned {scheme}, read as {verdict}"


def refused(plan: Plan) -> str | None:
    """Return what of a plan the stack does not take by its profile: a scheme, or a part of names; None if nothing."""
    reader = reader_of(CATALOG.backends.get(STACK), template(plan.architecture).model_type)
    for name, scheme in plan.schemes.items():
        if scheme != NATIVE and expected(scheme, experts=".experts." in name) is None:
            return scheme
    return next((item.part for item in reader.unloaded if any(item.part in name for name in plan.schemes)), None)


def ask(interpreter: str, asked: list[Plan]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the versions that answered, and an answer to each plan."""
    logging.disable(logging.INFO)
    requests = json.dumps([request(plan) for plan in asked])
    logging.disable(logging.NOTSET)
    done = subprocess.run([interpreter, str(DRIVER)], input=requests, capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    return document["versions"], document["answers"]


def _verdict(told: str | list[str | None]) -> Verdict:
    return Verdict(error=told.split(". Weight config")[0]) if isinstance(told, str) else Verdict(*told)


def gather(asked: list[Plan], answers: list[dict[str, Any]]) -> dict[str, Architecture]:
    """Return the answers by architecture.

    Raises
    ------
    RuntimeError
        If vLLM could not build a model at all.

    """
    found: dict[str, Architecture] = {}
    for plan, answer in zip(asked, answers, strict=True):
        if "error" in answer:
            raise RuntimeError(f"{plan.architecture}, {plan.kind}: {answer['error']}")
        home_ = found.setdefault(plan.architecture, Architecture(answer["architecture"], answer["homes"]))
        layers = {
            layer["name"]: _verdict(layer["verdict"]) for layer in answer["layers"] if layer["kind"] != "attention"
        }
        home_.plans[plan.kind] = Read(
            plan.patterns.global_scheme,
            plan.patterns.exclude_layers,
            plan.patterns.layer_quant_config,
            answer["kv_cache"],
            layers,
        )
    return found


def run() -> list[Row]:
    """Ask vLLM about all plans, keep its verdicts, write the table, and count the plans that are read as planned."""
    from bench.loaders.table import DOCUMENT, document

    interpreter = os.environ.get(INTERPRETER)
    if not interpreter:
        raise Skipped(f"{INTERPRETER} names no interpreter with vLLM")
    if find_spec("quark") is None:
        raise Skipped("amd-quark is not installed")
    asked = [plan for architecture in ARCHITECTURES for plan in plans(architecture).values()]
    versions, answers = ask(interpreter, asked)
    source = f"Verdicts of vLLM's own classes and Quark reader on the plans of bench/loaders, by python -m bench {NAME}"
    write(VERDICTS, source, versions, gather(asked, answers))
    found = read(VERDICTS)[1]
    DOCUMENT.write_text(document(found), encoding="utf-8")
    rows = []
    for architecture, item in found.items():
        made = plans(architecture)
        taken = [kind for kind in item.plans if refused(made[kind]) is None]
        right = [kind for kind in taken if not list(differences(made[kind], item.homes, item.plans[kind]))]
        if taken:
            rows.append(Row(architecture, len(right), versions["vllm"], len(taken), exact=True))
    return rows


register(Spec(NAME, "How many plans does vLLM read as they are planned?", "plans", run))
