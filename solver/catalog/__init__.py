"""Typed readers of `profiles/`: everything the planner knows about schemes, models' templates and machines."""

from solver.catalog.catalog import NATIVE, Catalog

__all__ = ["NATIVE", "Catalog"]
