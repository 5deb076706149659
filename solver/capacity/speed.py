"""How fast one replica is, and what share of its devices' time its traffic needs.

In steady state a replica holds n sequences. While one request is served, n are: their n prompts are computed one
after the other, and each of the O output tokens of all takes one step together. So n requests take
T = n * prefill + O * step seconds, which is also how long one of them stays (Little's law: n = rate * T).
"""

from dataclasses import dataclass
from fractions import Fraction

from solver.units import ceil_div

WHOLE = 10**6
"""Shares of a device's time are integers of which so many are the whole device."""


@dataclass(frozen=True, slots=True)
class Speed:
    """One replica with all of its slots in use, alone on its devices."""

    slots: int
    """Sequences that it holds at once."""
    output_tokens: int
    turn_seconds: Fraction
    """In which it serves as many requests as it has slots, and in which each of them is served."""
    prefill_seconds: float | None
    """Of one prompt; None where the throughput was measured."""
    step_seconds: float | None
    """Of one token of all sequences; None where the throughput was measured."""

    @property
    def requests_per_second(self) -> Fraction:
        """What it sustains."""
        return self.slots / self.turn_seconds

    @property
    def user_seconds(self) -> Fraction:
        """Seconds of one token of one user: a step, and its part of the prompts of the others meanwhile."""
        if self.prefill_seconds is None:
            return self.turn_seconds / self.output_tokens
        return (self.turn_seconds - Fraction(self.prefill_seconds)) / self.output_tokens


def estimated(slots: int, output_tokens: int, prefill_seconds: float, step_seconds: float) -> Speed:
    """Return the speed by the roofline's times of one prompt, and of one step of all slots."""
    turn = slots * Fraction(prefill_seconds) + output_tokens * Fraction(step_seconds)
    return Speed(slots, output_tokens, turn, prefill_seconds, step_seconds)


def measured(slots: int, output_tokens: int, tokens_per_second: Fraction) -> Speed:
    """Return the speed by the output tokens of all sequences in a second, prompts computed meanwhile."""
    return Speed(slots, output_tokens, slots * output_tokens / tokens_per_second, None, None)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a model has to carry; None is not asked for."""

    requests_per_second: Fraction | None
    concurrency: int | None
    floor: Fraction | None
    """Tokens of each user in a second, at least."""

    def times(self, percent: int) -> "Traffic":
        """Return a multiple of the traffic, the floor unchanged."""
        rate, users = self.requests_per_second, self.concurrency
        return Traffic(
            None if rate is None else rate * percent / 100,
            None if users is None else ceil_div(users * percent, 100),
            self.floor,
        )

    def sequences(self, speed: Speed) -> Fraction:
        """Return how many sequences are in service at once: by Little's law, or as many as asked for, if more."""
        implied = Fraction(0) if self.requests_per_second is None else self.requests_per_second * speed.turn_seconds
        return max(implied, Fraction(self.concurrency or 0))

    def replicas(self, speed: Speed) -> int:
        """Return the fewest replicas that hold these sequences."""
        need = self.sequences(speed) / speed.slots
        return max(1, ceil_div(need.numerator, need.denominator))

    def busy(self, speed: Speed, replicas: int) -> int:
        """Return the share of its devices' time that each of so many replicas needs, of `WHOLE`, rounded up.

        Enough for its part of the requests, and for the floor while others take the rest. Users who ask again at
        once, without a floor that says how fast is enough, take a device whole.
        """
        shares = [Fraction(0)]
        if self.requests_per_second is not None:
            shares.append(self.requests_per_second / (replicas * speed.requests_per_second))
        if self.floor is not None:
            shares.append(self.floor * speed.user_seconds)
        elif self.requests_per_second is None:
            return WHOLE
        share = max(shares) * WHOLE
        return ceil_div(share.numerator, share.denominator)
