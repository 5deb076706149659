"""Whether Quark is asked what it makes of a plan, and what it answers."""

from collections.abc import Callable
from typing import Literal

from solver.catalog import Catalog
from solver.errors import MissingError
from solver.plan.document import QuantPlan
from solver.plan.recompute import Recomputed
from solver.plan.verification import Check, left_out
from solver.quark.installed import PACKAGE, quark_torch, quark_version

QuarkUse = Literal["auto", "yes", "no"]
"""Whether Quark is asked: always, never, or where it can be imported."""


def ask_quark(
    plan: QuantPlan,
    chosen: Recomputed,
    model: str,
    catalog: Catalog,
    *,
    use: QuarkUse,
    tell: Callable[[str], None],
    revision: str | None,
    trust_remote_code: bool,
) -> tuple[tuple[Check, ...], str | None]:
    """Return what Quark makes of a plan, as checks, and its version; no version where it was not asked.

    Raises
    ------
    MissingError
        If it is to be asked in any case, and cannot be imported.
    """
    if use == "no":
        return (left_out("quark", "not asked (--quark no)"),), None
    version = quark_version()
    try:
        tell(f"importing {PACKAGE} {version or ''}, which takes a while")
        quark_torch()
    except MissingError as error:
        if use == "yes":
            raise
        return (left_out("quark", error.what.rstrip(".")),), None
    from solver.quark.command import command_check
    from solver.quark.resolve import layer_check

    tell(f"resolving every layer with {PACKAGE} {version}")
    layers = layer_check(plan, chosen, model, catalog, revision=revision, trust_remote_code=trust_remote_code)
    return (layers, command_check(plan, catalog)), version
