"""What answers for several budgets share: choices, problems and patterns, made once."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from solver.optimize.kept_fronts import KeptFronts
from solver.plan.request import PlanRequest

T = TypeVar("T")


class Memo:
    """Values by what they are made from, for one analysis and one catalogue.

    A value may depend on the request, the budget left out, and on the parts that it is asked for with. Parts that
    cannot be hashed by content are told apart as objects, and kept so that none takes the place of another.
    """

    def __init__(self) -> None:
        self.fronts = KeptFronts()
        self._values: dict[Hashable, Any] = {}
        self._kept: list[object] = []

    def once(
        self,
        name: str,
        request: PlanRequest,
        make: Callable[[], T],
        *,
        parts: tuple[Hashable, ...] = (),
        objects: tuple[object, ...] = (),
    ) -> T:
        """Return the value that was made before of the same, or make it."""
        asked = request.model_dump_json(exclude={"budget_bytes"})
        key = (name, asked, parts, tuple(map(id, objects)))
        if key not in self._values:
            self._values[key] = make()
            self._kept.extend(objects)
        value: T = self._values[key]
        return value
