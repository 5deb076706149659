"""The two consoles: answers go to stdout, everything else to stderr."""

import sys

from rich.console import Console

_NARROWEST = 80


def answers() -> Console:
    """Return the console of answers; piped output is as wide as a plain terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_NARROWEST)
    return console


def messages() -> Console:
    """Return the console of progress, prompts and errors."""
    return Console(stderr=True, highlight=False)


def on_terminal() -> bool:
    """Return whether somebody is there to be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def read_line(label: str, default: str | None = None, *, shown: bool = True) -> str:
    """Return a line that is typed at a prompt on stderr; an empty one is the default, or asked for again."""
    prompt = f"{label} [{default}]: " if default is not None and shown else f"{label}: "
    while True:
        line = messages().input(prompt, markup=False).strip() or default
        if line:
            return line
