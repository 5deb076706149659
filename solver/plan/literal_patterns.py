"""The longest way to write an assignment: layer by layer, each by its own name."""

from collections.abc import Iterator, Sequence

from solver.catalog import NATIVE
from solver.catalog.template import Template
from solver.plan.assignment import Assignment
from solver.plan.plain_patterns import kv_entries
from solver.plan.written import QuarkPatterns
from solver.rules.patterns import first_match, matches_path
from solver.rules.units import Member

_EXPERT = ".{expert}"


def _names(assignment: Assignment) -> Iterator[tuple[Member, str]]:
    """Yield each layer with the name that stands for it: experts of one scheme have their parent's, as stacks do."""
    parents: dict[tuple[str, int | None], set[str]] = {}
    for member, scheme in assignment.schemes.items():
        if member.family.experts:
            parents.setdefault((member.family.name.split(_EXPERT)[0], member.block), set()).add(scheme)
    for member in assignment.schemes:
        name = member.family.path(member.block)
        if member.family.experts:
            parent = member.family.name.split(_EXPERT)[0]
            whole = len(parents[parent, member.block]) == 1
            name = f"{name.split(_EXPERT)[0]}*" if whole else name.replace("{expert}", "*")
        yield member, name


def literal_patterns(
    assignment: Assignment,
    template: Template,
    global_scheme: str,
    excludes: Sequence[str],
    *,
    kv_fp8: bool,
    convolutions: Sequence[str] = (),
) -> QuarkPatterns:
    """Return one pattern for each layer beside the given excludes; the parameters are those of `plain_patterns`.

    A layer pattern has a `*` in front, which vLLM needs; of two names that end alike the longer one comes first. An
    exclude has none: it is read before all patterns, and an export lists excluded layers by their full names anyhow.
    """
    left = [(m, n) for m, n in _names(assignment) if first_match(excludes, m.family, m.block) is None]
    native = [n for m, n in left if assignment.schemes[m] == NATIVE and m.family.quantizable]
    open_paths = [path for path in convolutions if not any(matches_path(pattern, path) for pattern in excludes)]
    named = {f"*{name}": assignment.schemes[m] for m, name in left if assignment.schemes[m] != NATIVE}
    return QuarkPatterns(
        global_scheme,
        tuple(dict.fromkeys((*excludes, *native, *open_paths))),
        {
            **(kv_entries(assignment, template) if kv_fp8 else {}),
            **dict(sorted(named.items(), key=lambda item: -len(item[0]))),
        },
    )
