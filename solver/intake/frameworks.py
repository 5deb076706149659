"""torch and transformers, held by one thread at a time: they keep settings for the whole process while they work."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from solver.errors import MissingError

# Types, warnings and patches that are set while a model is built would reach the models of other threads.
alone = RLock()
"""Held wherever something of the whole process is changed for a while."""


def _transformers() -> Any:
    try:
        import torch  # noqa: F401
        import transformers
    except ImportError as error:
        raise MissingError(
            f"transformers or torch cannot be imported ({error}).",
            where="intake",
            mend="`pip install torch transformers`, or plan from a finished model_analysis.json.",
        ) from error
    return transformers


@contextmanager
def frameworks() -> Iterator[Any]:
    """Give the module transformers, silent below errors and to this thread alone.

    torch's default type, the filters of warnings and how much transformers logs are afterwards what they were.

    Raises
    ------
    MissingError
        If torch or transformers is not installed.

    """
    with alone:
        transformers = _transformers()
        import torch
        from transformers.utils import logging

        dtype, level = torch.get_default_dtype(), logging.get_verbosity()
        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield transformers
        finally:
            torch.set_default_dtype(dtype)
            logging.set_verbosity(level)
