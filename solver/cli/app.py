"""The command line as a whole."""

import typer

from solver.cli.analyze import analyze
from solver.cli.capacity import capacity
from solver.cli.confirm import confirm
from solver.cli.doctor import doctor
from solver.cli.explain import explain
from solver.cli.export import export
from solver.cli.footprint import footprint
from solver.cli.profiles import profiles
from solver.cli.solve import solve
from solver.cli.sweep import sweep
from solver.cli.verify import verify

app = typer.Typer(
    name="solve",
    help="Plan how to quantize a language model with AMD Quark: which schemes fit a memory budget, and what they "
    "cost in quality. `solve MODEL --budget 12GB --hardware mi300x` plans; the commands below do the rest.",
    epilog="Exit codes: 0 ok; 1 no answer, declined, or what `verify` or `doctor` compare differs; 2 bad input; "
    "3 limit reached without a plan; 4 a needed file, tool or network is missing; 101 a bug.",
    no_args_is_help=False,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback(invoke_without_command=True)(solve)
app.command()(analyze)
app.command()(capacity)
app.command()(confirm)
app.command()(doctor)
app.command()(explain)
app.command()(export)
app.command()(footprint)
app.command()(verify)
app.add_typer(profiles, name="profiles")
app.add_typer(sweep, name="sweep")
