"""`solve profiles`: what the catalogue knows."""

from typing import Annotated

import typer

from solver.cli.options import ProfilesOption

profiles = typer.Typer(help="List and show what the planner knows.", no_args_is_help=True)

SectionArgument = Annotated[
    str,
    typer.Argument(
        help="goals, schemes, kv_schemes, algorithms, templates, hardware, backends, defects, stored_formats, "
        "translations, rules or models.",
        metavar="SECTION",
    ),
]


def _checked(section: str) -> str:
    from solver.errors import UnknownNameError
    from solver.report.profiles import SECTION_NAMES

    for name in SECTION_NAMES:
        if section in {name, name.removesuffix("s")}:
            return name
    raise UnknownNameError("section", section, list(SECTION_NAMES), listing="solve profiles list --help")


@profiles.command("list")
def list_entries(section: SectionArgument, extra: ProfilesOption = None) -> None:
    """List a section."""
    from solver.catalog import Catalog
    from solver.report.console import answers
    from solver.report.profiles import listing

    answers().print(listing(Catalog(extra), _checked(section)))


@profiles.command("show")
def show_entry(
    section: SectionArgument,
    name: Annotated[str, typer.Argument(help="Name, title or alias of the entry.")],
    extra: ProfilesOption = None,
) -> None:
    """Show one entry as JSON, with the unit and source of every number."""
    from solver.api import to_json
    from solver.catalog import Catalog
    from solver.report.profiles import section_of

    entry = section_of(Catalog(extra), _checked(section)).get(name)
    typer.echo(to_json(entry.model_dump(mode="json", exclude_none=True)), nl=False)
