"""`solve analyze`: the intake alone."""

from pathlib import Path
from typing import Annotated

import typer

from solver.cli.options import NoCacheOption, ProfilesOption, RevisionOption, TrustOption


def analyze(
    model: Annotated[
        str, typer.Argument(help="A checkpoint's folder, a config.json, a GGUF file, a bundled model or a hub id.")
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write; by default stdout.")] = None,
    revision: RevisionOption = None,
    trust_remote_code: TrustOption = False,
    no_cache: NoCacheOption = False,
    profiles: ProfilesOption = None,
) -> None:
    """Write model_analysis.json: what a model is made of, by its configuration and its checkpoint's headers."""
    from solver import api
    from solver.api import to_json
    from solver.catalog import Catalog
    from solver.files import write_atomic
    from solver.report.analysis import summary
    from solver.report.console import messages

    console = messages()
    with console.status(f"building {model} on torch's meta device"):
        analysis = api.analyze(
            model,
            catalog=Catalog(profiles),
            revision=revision,
            trust_remote_code=trust_remote_code,
            cache=not no_cache,
        )
    text = to_json(analysis.document())
    if output is None:
        typer.echo(text, nl=False)
        # For a person; what pipes the document gets nothing else.
        if console.is_terminal:
            console.print(summary(analysis))
        return
    write_atomic(output, text)
    console.print(summary(analysis))
    console.print(
        f"Wrote {output}. Next: solve --model {output} --budget 40GB --hardware mi300x", soft_wrap=True, markup=False
    )
