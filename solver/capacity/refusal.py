"""Says why a fleet does not fit, and what would help."""

from collections.abc import Sequence

from solver.capacity.candidates import Kind, Offers
from solver.capacity.clash import NODES, SURVIVE, find_clash, told
from solver.capacity.fleet import Fleet, ModelLoad
from solver.capacity.layouts import parallelisms
from solver.capacity.options import Question
from solver.capacity.repairs import Anew, Repairs
from solver.errors import BadInputError, MissingError, NoAnswerError
from solver.optimize.cpsat import SolverSettings


def refuse_model(load: ModelLoad, kinds: Sequence[Kind], offers: Offers) -> None:
    """Raise why no replica of a model is possible on any node: what `solve` answers for all devices of one.

    Raises
    ------
    NoAnswerError
        If nothing fits; it says what clashes, and what would give a plan.
    MissingError
        If plans fit, but how fast they are is not known.

    """
    for kind in kinds:
        for tensor_parallel in reversed(parallelisms(kind.devices)):
            try:
                offers.answer(offers.request(load, kind, tensor_parallel, 1))
            except NoAnswerError as error:
                error.where = f"{load.name} on {tensor_parallel} x {kind.hardware}"
                raise
            except BadInputError:
                continue
            break
    raise MissingError(
        "how fast any plan is is not known: the hardware's bandwidth is not.",
        where=load.name,
        mend="Give what was measured with --measured.",
    )


def refusal(fleet: Fleet, question: Question, settings: SolverSettings, anew: Anew) -> NoAnswerError:
    """Return the fewest demands of a fleet that clash, and the single changes with which it fits."""
    clash = find_clash(fleet, question, settings)
    repairs = Repairs(fleet, question, settings, anew).find(clash)
    models = [fleet.models[model].name for model in dict.fromkeys(claim.model for claim in clash) if model is not None]
    if any(claim.part == NODES for claim in clash):
        carried = f"the traffic of {' and '.join(models)}" if models else "all traffic"
        lost = any(claim.part == SURVIVE for claim in clash)
        what = f"the nodes do not carry {carried}{' when some are lost' if lost else ''}."
    else:
        what = f"no plan of {' and '.join(models)} that was compared keeps its floors, on however many nodes."
    return NoAnswerError(what, rules=tuple(told(claim, fleet, question) for claim in clash), repairs=repairs)
