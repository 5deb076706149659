"""What `--json` makes of an error: the one document on stdout."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from solver.api import ErrorAnswer, to_json
from solver.errors import PlannerError


@contextmanager
def answering(asked: Callable[[], dict[str, Any]], *, as_json: bool) -> Iterator[None]:
    """Turn an error into the document that answers what was asked, where a document was asked for.

    Raises
    ------
    PlannerError
        If there is an error, and no JSON was asked for.
    """
    try:
        yield
    except PlannerError as error:
        if not as_json:
            raise
        document = ErrorAnswer(request=asked(), error=error.document())
        typer.echo(to_json(document.model_dump(mode="json")), nl=False)
        raise typer.Exit(error.exit_code) from error
