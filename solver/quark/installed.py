"""The installed package: whether it is there, and a quiet way to it. `quark` is imported nowhere but in this part."""

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from solver.errors import MissingError
from solver.intake.frameworks import alone

PACKAGE = "amd-quark"
_INSTALL = "`pip install 'quant-plan-solver[quark]'` installs it."


def quark_version() -> str | None:
    """Return the version of the installed package, without importing it; None where there is none."""
    try:
        found = version(PACKAGE)
        return found if find_spec("quark") is not None else None
    except PackageNotFoundError:
        return None


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what Quark logs and prints off the terminal: stdout is for answers."""
    from quark.common.utils.log import ScreenLogger

    with alone, warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        level = ScreenLogger._shared_level
        ScreenLogger.set_shared_level(logging.ERROR)
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            ScreenLogger.set_shared_level(level)


def reason_of(error: Exception) -> str:
    """Return the kind of an error of Quark's and the start of what it says, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".removesuffix(": ")


def quark_torch() -> Any:
    """Return the package `quark.torch`; its first import takes some 10 to 20 s.

    Raises
    ------
    MissingError
        If it is not installed, or cannot be imported.
    """
    if quark_version() is None:
        raise MissingError(f"{PACKAGE} is not installed.", where="--quark", mend=_INSTALL)
    try:
        with quiet():
            import quark.torch
            import quark.torch.utils.llm
    except Exception as error:
        raise MissingError(
            f"{PACKAGE} cannot be imported: {reason_of(error)}.",
            where="--quark",
            mend="`solve doctor` says which versions are installed.",
        ) from error
    return quark.torch
