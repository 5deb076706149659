"""The template file that quark-cli reads by `--template_file`: patterns, and settings of algorithms."""

import json

from solver.catalog import Catalog
from solver.export.algorithm_config import CONFIGS, TEMPLATE_FIELDS
from solver.export.configured import configs_of
from solver.export.options import ExportOptions
from solver.plan.context import commonest_template
from solver.plan.document import QuantPlan

SUPPORTED = frozenset({"algorithm_config_files"})


def export(plan: QuantPlan, options: ExportOptions, catalog: Catalog) -> str:
    """Return the file; it takes the place of Quark's own template, and so it names all that the plan needs of it."""
    template = catalog.templates.find(plan.model.model_type) or commonest_template(plan.model.model_type)
    configs = configs_of(plan, options, catalog)
    document = {
        "model_type": plan.model.model_type,
        **{field: list(getattr(template, ours)) for field, ours in TEMPLATE_FIELDS.items()},
        CONFIGS: {name: {"name": _name(name, catalog), **config} for name, config in configs.items()},
    }
    return json.dumps(document, indent=2) + "\n"


def _name(algorithm: str, catalog: Catalog) -> str:
    config = catalog.algorithms.get(algorithm).config
    return algorithm if config is None else config.name
