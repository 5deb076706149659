"""An independent reading of the three fields that select schemes, as Quark documents them."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from solver.catalog import NATIVE


def scheme_of_path(path: str, exclude: Sequence[str], layers: Mapping[str, str], global_scheme: str) -> str:
    """Return the scheme of one module path: excluded, else the first matching pattern, else the global scheme."""
    if any(fnmatchcase(path, pattern) for pattern in exclude):
        return NATIVE
    return next((scheme for pattern, scheme in layers.items() if fnmatchcase(path, pattern)), global_scheme)
