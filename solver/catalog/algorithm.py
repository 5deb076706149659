"""Quantization algorithms of AMD Quark and the scheme families that each fits."""

from typing import Literal

from pydantic import Field

from solver.catalog.base import Profile


class Gain(Profile):
    """Multipliers on the weight and the activation part of the risk for one scheme family."""

    weight: float = 1.0
    activation: float = 1.0


class Algorithm(Profile):
    """One algorithm name of AMD Quark 0.13."""

    name: str
    summary: str
    offered: bool
    """Whether plans choose it unasked; the others are listed and must be named."""
    fits: tuple[str, ...]
    """Scheme families that the algorithm is made for: one of them must be in the plan."""
    breaks: tuple[str, ...] = ()
    """Scheme families that crash under it: none of them may be in the plan."""
    requires_calibration: bool = True
    gain: dict[str, Gain] = Field(default_factory=dict)
    """By scheme family; a family that is not named gains nothing."""
    gain_confidence: Literal["measured", "published", "judgement"]
    source: str
