"""The command `solve`: one module for each subcommand, all thin."""

import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from solver.errors import EXIT_BUG, BadInputError, PlannerError

SUBCOMMANDS = ("analyze", "confirm", "export", "profiles")


def _with_model_flag(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with a leading model written as `--model MODEL`: `solve MODEL` plans for it."""
    first = arguments[0] if arguments else "-"
    if first.startswith("-") or first in SUBCOMMANDS:
        return list(arguments)
    meant = difflib.get_close_matches(first, SUBCOMMANDS, n=1, cutoff=0.75)
    if meant and not Path(first).exists():
        raise BadInputError(f"there is no command {first!r}.", mend=f"Did you mean `solve {meant[0]}`?")
    return ["--model", *arguments]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `solve` and end the process with a documented exit code."""
    from solver.cli.app import app

    try:
        app(_with_model_flag(sys.argv[1:] if arguments is None else arguments))
    except PlannerError as error:
        _complain(f"error: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _complain("interrupted: nothing was written")
        sys.exit(1)
    except Exception as error:
        if os.environ.get("SOLVE_DEBUG"):
            raise
        _complain(
            f"bug: {type(error).__name__}: {error}. Nothing was written. "
            "Please report it with the output of the same command under SOLVE_DEBUG=1."
        )
        sys.exit(EXIT_BUG)


def _complain(text: str) -> None:
    from rich.text import Text

    from solver.report.console import messages

    messages().print(Text(text))
