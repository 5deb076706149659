"""Flags that several subcommands share, and how their texts are read."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from solver.errors import BadInputError


class Quark(StrEnum):
    """Whether the installed AMD Quark is asked."""

    auto = "auto"
    yes = "yes"
    no = "no"


QuarkOption = Annotated[
    Quark,
    typer.Option("--quark", help="Ask the installed AMD Quark, which takes some 20 s to import; auto: if it is there."),
]
ProfilesOption = Annotated[
    Path | None,
    typer.Option("--profiles", help="Folder laid out like profiles/ that adds or overrides entries."),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run Python code that lies beside the model's configuration, here and in Quark. Read it first.",
    ),
]
HardwareOption = Annotated[str | None, typer.Option(help="Accelerator; by default that of ./env_context.json.")]
BackendOption = Annotated[str | None, typer.Option(help="Serving stack; by default the hardware's own.")]
ContextOption = Annotated[str | None, typer.Option(help="Tokens of a sequence, 8192 or 8k.")]
ExpertParallelOption = Annotated[
    bool, typer.Option("--expert-parallel", help="Share routed experts out whole over the --tp devices.")
]
RevisionOption = Annotated[str | None, typer.Option("--revision", help="Branch, tag or commit of a hub model.")]

NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Build the analysis anew, and keep none in the user's cache folder.")
]


def parse_layer(text: str, *, flag: str = "--layer") -> tuple[str, str]:
    """Return pattern (or role) and scheme of `PATTERN=SCHEME`.

    Raises
    ------
    BadInputError
        If the text has another form.

    """
    pattern, equals, scheme = text.rpartition("=")
    if not (pattern and equals and scheme):
        form, example = ("ROLE", "down=ptpc_fp8") if flag == "--pin" else ("PATTERN", "'*down_proj=ptpc_fp8'")
        raise BadInputError(f"{text!r} is not {form}=SCHEME.", where=flag, mend=f"Write for example {example}.")
    return pattern.strip(), scheme.strip()


def parse_floor(text: str) -> tuple[str, float]:
    """Return role and bits of `ROLE=BITS`.

    Raises
    ------
    BadInputError
        If the text has another form.

    """
    role, _, bits = text.rpartition("=")
    try:
        number = float(bits)
    except ValueError:
        number = 0.0
    if not role.strip() or not 0 < number <= 64:
        raise BadInputError(f"{text!r} is not ROLE=BITS.", where="--floor", mend="Write for example down=8.")
    return role.strip(), number


def parse_algorithms(text: str | None) -> tuple[str, ...] | None:
    """Return the algorithms of `awq,smoothquant`; `none` is none, None leaves the choice open."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    return () if names == ["none"] else tuple(dict.fromkeys(names))
