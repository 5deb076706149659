"""Tensors that profiles name by the sizes of a model."""

from math import prod
from typing import Literal

from pydantic import Field, PositiveInt

from solver.catalog.base import Profile

Axis = Literal["hidden", "2*hidden", "vocab"] | PositiveInt


class ModelTensor(Profile):
    """A tensor whose axes are sizes of the model."""

    name: str
    shape: tuple[Axis, ...] = Field(min_length=1)

    def sizes(self, hidden_size: int, vocab_size: int) -> tuple[int, ...]:
        """Return its shape in a model of these sizes."""
        named = {"hidden": hidden_size, "2*hidden": 2 * hidden_size, "vocab": vocab_size}
        return tuple(axis if isinstance(axis, int) else named[axis] for axis in self.shape)

    def elements(self, hidden_size: int, vocab_size: int) -> int:
        """Return its elements in a model of these sizes."""
        return prod(self.sizes(hidden_size, vocab_size))
