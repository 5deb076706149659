"""The two consoles: answers go to stdout, everything else to stderr."""

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
