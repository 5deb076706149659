"""JSON Schemas of every file that is read or written, generated from the types themselves.

`python -m solver.schemas` writes them to `schemas/`; a test holds the two equal.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from solver.capacity.document import CapacityPlan
from solver.capacity.fleet import Fleet
from solver.catalog.algorithm import Algorithm
from solver.catalog.backend import Backend
from solver.catalog.caches import CacheFields
from solver.catalog.checkpoint_names import CheckpointNames
from solver.catalog.defect import Defect
from solver.catalog.fields import ConfigFields
from solver.catalog.goal import Goal, Guide
from solver.catalog.hardware import Hardware
from solver.catalog.kv_scheme import KvScheme
from solver.catalog.mtp import MtpRules
from solver.catalog.paths import SCHEMAS_DIR
from solver.catalog.roles import Roles
from solver.catalog.scheme import Scheme
from solver.catalog.sensitivity import Sensitivity
from solver.catalog.stored_format import StoredFormat
from solver.catalog.template import Template
from solver.catalog.tensors import StoredTensors
from solver.catalog.translation import Translation
from solver.catalog.zoo import ZooModel
from solver.intake.analysis import ModelAnalysis
from solver.plan.document import Answer, ErrorAnswer, QuantPlan
from solver.plan.explanation import Explanation
from solver.plan.footprints import FootprintReport
from solver.plan.verification import Verification
from solver.quark.doctor import Drift
from solver.sweep.spec import Sweep
from solver.sweep.summary import SweepRows, SweepSummary

TYPES: dict[str, Any] = {
    "model_analysis": ModelAnalysis,
    "quant_plan": QuantPlan,
    "answer": Answer | ErrorAnswer,
    "footprint": FootprintReport,
    "explanation": Explanation | ErrorAnswer,
    "fleet": Fleet,
    "capacity": CapacityPlan | ErrorAnswer,
    "drift": Drift | ErrorAnswer,
    "sweep": Sweep,
    "sweep_rows": SweepRows | ErrorAnswer,
    "sweep_summary": SweepSummary | ErrorAnswer,
    "verification": Verification | ErrorAnswer,
    "profiles/algorithm": Algorithm,
    "profiles/backend": Backend,
    "profiles/checkpoint_names": CheckpointNames,
    "profiles/caches": CacheFields,
    "profiles/config_fields": ConfigFields,
    "profiles/defect": Defect,
    "profiles/goal": Goal,
    "profiles/guide": Guide,
    "profiles/hardware": Hardware,
    "profiles/kv_scheme": KvScheme,
    "profiles/model": ZooModel,
    "profiles/mtp": MtpRules,
    "profiles/roles": Roles,
    "profiles/scheme": Scheme,
    "profiles/sensitivity": Sensitivity,
    "profiles/stored_format": StoredFormat,
    "profiles/stored_tensors": StoredTensors,
    "profiles/template": Template,
    "profiles/translation": Translation,
}
"""What each schema describes, by its path below `schemas/`."""


def schema_text(name: str) -> str:
    """Return one schema as JSON."""
    return json.dumps(TypeAdapter(TYPES[name]).json_schema(), indent=2, sort_keys=True) + "\n"


def write_schemas(folder: Path) -> None:
    """Write all schemas below a folder."""
    for name in TYPES:
        path = folder / f"{name}.schema.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    write_schemas(SCHEMAS_DIR)
