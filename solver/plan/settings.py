"""The legal settings of a request, and what stands against those that it names."""

from collections.abc import Iterable

from solver.errors import BadInputError, NoAnswerError
from solver.intake.analysis import Risk as RiskNote
from solver.plan.choices import Choices
from solver.plan.context import Context
from solver.plan.kept import kept_as_asked
from solver.rules.refusal import standing
from solver.rules.settings import SETTINGS_RULES, Settings, SettingsRequest, Target, legal_settings, settings_refusals


def settings_target(context: Context, schemes: Iterable[str] = ()) -> Target:
    """Return what the settings of a request are for, with the schemes that some layer may have."""
    service = context.service
    return Target(
        context.template,
        context.inventory,
        service.backend,
        service.hardware.kernel_class,
        frozenset(context.catalog.schemes.get(name).family for name in schemes),
    )


def refuse_kv_cache(context: Context, kv_cache_scheme: str | None) -> None:
    """Raise if a rule stands against the KV cache that the user named.

    Raises
    ------
    BadInputError
        If one does; it is named.
    """
    refused = settings_refusals(Settings((), kv_cache_scheme), settings_target(context), {"kv"})
    for refusal in standing(refused, context.catalog.rules, forced=context.request.force):
        raise BadInputError(
            f"{refusal}.", where=f"--kv {kv_cache_scheme}", mend="Leave --kv out, or ask for `--kv none`."
        )


def settings_risks(context: Context, settings: Settings, schemes: Iterable[str]) -> list[RiskNote]:
    """Return what is kept as asked of the settings of a plan that has these schemes."""
    refused = settings_refusals(settings, settings_target(context, schemes))
    asked = {"algorithms": f"--algorithm {','.join(settings.algorithm_names)}"}
    return [
        kept_as_asked(context, asked.get(SETTINGS_RULES[refusal.rule].aspect, "--force"), refusal)
        for refusal in refused
    ]


def legal_rows(context: Context, choices: Choices) -> list[Settings]:
    """Return the legal rows of settings.

    Raises
    ------
    BadInputError
        If a rule stands against the KV cache that was asked for.
    NoAnswerError
        If what was asked for leaves no legal settings.
    """
    request = context.request
    kv = None if request.kv_cache_scheme in {None, "none"} else request.kv_cache_scheme
    refuse_kv_cache(context, kv)
    named = SettingsRequest(
        algorithms=context.implied_algorithms if request.algorithms is None else request.algorithms,
        kv_open=request.kv_cache_scheme is None,
        kv_cache_scheme=kv,
        forced=request.force,
    )
    rows = legal_settings(context.catalog, settings_target(context, choices.schemes), named)
    if not rows:
        backend = context.service.backend
        if request.algorithms:
            names = ",".join(request.algorithms)
            raise NoAnswerError(
                f"every scheme that is allowed here crashes under {names}.",
                where=f"--algorithm {names}",
                mend="Leave it out, or allow other schemes.",
            )
        raise NoAnswerError(
            f"{backend.title} reads nothing that Quark writes.",
            where=f"--backend {backend.name}",
            mend="Name another stack, or `--backend none` for the checkpoint alone.",
        )
    return rows
