"""The command `solve`: one module for each subcommand, all thin."""

import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from solver.errors import EXIT_BUG, BadInputError, MissingError, NoAnswerError, PlannerError, VerificationError

_INTERRUPTED = 130

SUBCOMMANDS = (
    "analyze",
    "capacity",
    "confirm",
    "doctor",
    "explain",
    "export",
    "footprint",
    "profiles",
    "sweep",
    "verify",
)


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
    import typer

    from solver.cli.app import app

    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(_with_model_flag(given), prog_name="solve", standalone_mode=False)
    except NoAnswerError as error:
        from solver.report.console import messages
        from solver.report.refusal import print_refusal

        print_refusal(error, messages())
        sys.exit(error.exit_code)
    except PlannerError as error:
        _complain(f"error: {error}")
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except OSError as error:
        _complain(f"error: {error.strerror or error}.")
        sys.exit(MissingError.exit_code)
    except Exception as error:
        if hasattr(error, "format_message"):
            _refuse_usage(error, given)
        if os.environ.get("SOLVE_DEBUG"):
            raise
        report = _exported(error)
        written = (
            "Nothing was written. " if report is None else f"Its problem is in {report}, and no plan was written. "
        )
        _complain(
            f"bug: {type(error).__name__}: {error}. {written}"
            "Please report it with the output of the same command under SOLVE_DEBUG=1."
        )
        sys.exit(EXIT_BUG)
    # typer answers some interrupts with the code of their signal.
    if code == _INTERRUPTED:
        _complain("interrupted: nothing was written")
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _refuse_usage(error: Any, arguments: list[str]) -> NoReturn:
    """Say what the parser refused, as a document where one was asked for, and end."""
    message = str(error.format_message()).rstrip(".")
    refused = BadInputError(f"{message}.", mend="`solve --help` lists the flags.")
    if "--json" in arguments:
        from solver.api import ErrorAnswer, to_json

        answer = ErrorAnswer(request={"arguments": arguments}, error=refused.document())
        sys.stdout.write(to_json(answer.model_dump(mode="json")))
    else:
        _complain(f"error: {refused}")
    sys.exit(BadInputError.exit_code)


def _exported(error: Exception) -> Path | None:
    """Write the problem whose answer failed its re-check, if there is one, and return the file."""
    document = error.document if isinstance(error, VerificationError) else None
    if document is None:
        return None
    from solver.api import to_json
    from solver.files import write_atomic

    path = Path("solve_bug_report.json")
    try:
        write_atomic(path, to_json(document))
    except BadInputError:
        return None
    return path


def _complain(text: str) -> None:
    from rich.text import Text

    from solver.report.console import messages

    messages().print(Text(text))
