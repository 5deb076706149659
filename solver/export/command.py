"""Commands as argument lists, printed so that a shell reads them back unchanged."""

import shlex
from collections.abc import Iterable

Group = tuple[str, ...]
"""A flag with its values, kept on one line."""


def render(program: Group, groups: Iterable[Group]) -> str:
    """Return a command with one flag a line, quoted for a POSIX shell."""
    lines = [shlex.join(program), *(shlex.join(group) for group in groups)]
    return " \\\n    ".join(lines) + "\n"
