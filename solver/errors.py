"""The errors that a user can cause, each with its exit code.

Every one says what happened, where, and how to mend it. Anything else that escapes is a bug (exit code 101).
"""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

EXIT_BUG = 101
"""Exit code of an unexpected exception: a defect of this program, never of its input."""


class PlannerError(Exception):
    """Base of all errors that end in one clear message instead of a traceback."""

    exit_code: ClassVar[int] = 2
    kind: ClassVar[str] = "bad_input"

    def __init__(self, what: str, *, where: str | None = None, mend: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.mend = mend

    def __str__(self) -> str:
        return " ".join(part for part in (f"{self.where}: {self.what}" if self.where else self.what, self.mend) if part)

    def document(self) -> dict[str, Any]:
        """Return the error as the `error` object of a JSON answer."""
        return {
            "kind": self.kind,
            "exit_code": self.exit_code,
            "message": self.what,
            "where": self.where,
            "mend": self.mend,
        }


class BadInputError(PlannerError):
    """A flag, a file or a name that cannot be used as given."""


class NoDecoderError(BadInputError):
    """A model that encodes: its cross-attention caches, and whether it decodes at all, are not known here."""

    def __init__(self, model_type: object, *, where: str) -> None:
        super().__init__(
            f"a model of type {model_type!r} has an encoder, and only decoders are planned.",
            where=where,
            mend="Name a model that only decodes text.",
        )


class UnknownNameError(BadInputError):
    """A name that no catalogue entry carries; answers with the nearest known ones."""

    def __init__(self, kind: str, name: str, nearest: list[str], *, listing: str) -> None:
        hint = f"Did you mean {', '.join(nearest)}? " if nearest else ""
        super().__init__(f"unknown {kind} {name!r}.", mend=f"{hint}`{listing}` lists all of them.")
        self.nearest = nearest


@dataclass(frozen=True, slots=True)
class ClashingRule:
    """One of the demands that clash: a rule or a flag of the user's, and its sentence."""

    id: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Repair:
    """One change that was solved and gives an answer: a flag, its value (None for a switch or for leaving it out).

    Bytes are those of the least risky plan on one device, `delta_nll` its predicted loss in nats per token.
    """

    flag: str
    value: str | None
    leaves_out: bool
    footprint_bytes: int
    delta_nll: float

    def __str__(self) -> str:
        written = self.flag if self.value is None else f"{self.flag} {self.value}"
        return f"without {written}" if self.leaves_out else written


class NoAnswerError(PlannerError):
    """The question is well put and has no answer; says which demands clash, and what would give one."""

    exit_code = 1
    kind = "no_answer"

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        mend: str | None = None,
        rules: tuple[ClashingRule, ...] = (),
        repairs: tuple[Repair, ...] = (),
    ) -> None:
        super().__init__(what, where=where, mend=mend)
        self.rules = rules
        self.repairs = repairs

    def document(self) -> dict[str, Any]:
        """Return the error as JSON, with the rules that clash and the repairs."""
        return super().document() | {
            "rules": [asdict(rule) for rule in self.rules],
            "repairs": [asdict(repair) for repair in self.repairs],
        }


class InfeasibleError(NoAnswerError):
    """No plan keeps the budget; carries the least footprint that exists, and its items in bytes."""

    kind = "infeasible"

    def __init__(
        self,
        what: str,
        *,
        least_footprint_bytes: int,
        items: dict[str, int] | None = None,
        mend: str | None = None,
        rules: tuple[ClashingRule, ...] = (),
        repairs: tuple[Repair, ...] = (),
    ) -> None:
        super().__init__(what, mend=mend, rules=rules, repairs=repairs)
        self.least_footprint_bytes = least_footprint_bytes
        self.items = items or {}

    def document(self) -> dict[str, Any]:
        """Return the error as JSON, with the least footprint in bytes per device and its items."""
        return super().document() | {"least_footprint_bytes": self.least_footprint_bytes, "items": self.items}


class RuledOutError(NoAnswerError):
    """Plans keep the budget and the demands, but none keeps a side rule too, such as a limit on overrides."""

    kind = "ruled_out"


class DeclinedError(NoAnswerError):
    """The user said no, or did not say yes."""

    kind = "declined"


class LimitReachedError(PlannerError):
    """The time limit ended the search before it had a plan."""

    exit_code = 3
    kind = "limit_reached"


class MissingError(PlannerError):
    """A tool, a file or the network that is needed is not there."""

    exit_code = 4
    kind = "missing"


class VerificationError(Exception):
    """A result failed its own re-check in exact integers: a defect of this program (exit code 101).

    `document` holds the request and its problems as JSON, where they are known.
    """

    document: dict[str, Any] | None = None
