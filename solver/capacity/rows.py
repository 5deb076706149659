"""The rows of a placement: options by model, replicas by node, and devices by the models that they hold.

Devices of a node are alike, so that they are counted by what they hold: for each node and each set of models, how many
of its devices hold that set. A device holds at most one shard of a model.
"""

from collections.abc import Sequence

from ortools.sat.python import cp_model

from solver.capacity.problem import Node, Option, Placement, Problem
from solver.capacity.sets import Models, shared_by
from solver.capacity.speed import WHOLE
from solver.errors import BadInputError

_FLOAT_EXACT = 2**53
Terms = list[tuple[cp_model.IntVar, int]]


def total(terms: Terms) -> cp_model.LinearExprT:
    """Return the weighted sum of some variables."""
    return cp_model.LinearExpr.weighted_sum([variable for variable, _ in terms], [weight for _, weight in terms])


class Rows:
    """A CP-SAT model of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.model = cp_model.CpModel()
        self.taken = [[self.model.new_bool_var("") for _ in options] for options in problem.options]
        for taken in self.taken:
            self.model.add_exactly_one(taken)
        # By node, model and tensor parallelism; by node and set of models; by node.
        self.replicas: dict[tuple[int, int, int], cp_model.IntVar] = {}
        self.holding: dict[tuple[int, Models], cp_model.IntVar] = {}
        self.used: dict[int, cp_model.IntVar] = {}
        self.complete = True
        for kind in sorted({node.kind for node in problem.nodes}):
            sets, complete = shared_by(problem, kind)
            self.complete &= complete
            nodes = [node for node in problem.nodes if node.kind == kind]
            self._hold(kind, nodes, sets)
            self._aggregate(kind, nodes)
        for number in range(len(problem.options)):
            self._enough(number)
        self._order()

    def _of(self, kind: int) -> list[tuple[int, cp_model.IntVar, Option]]:
        return [
            (number, taken, option)
            for number, options in enumerate(self.problem.options)
            for taken, option in zip(self.taken[number], options, strict=True)
            if option.kind == kind
        ]

    def _hold(self, kind: int, nodes: Sequence[Node], sets: Sequence[Models]) -> None:
        """Add what the devices of each node hold, and that it fits their memory and their time."""
        options = self._of(kind)
        for models in sets:
            allowed: dict[int, cp_model.IntVar] = {}
            for node in nodes:
                count = self.model.new_int_var(0, node.devices, "")
                self.holding[node.number, models] = count
                if node.usable_bytes not in allowed:
                    allowed[node.usable_bytes] = self._allowed(options, models, node.usable_bytes)
                self.model.add(count <= node.devices * allowed[node.usable_bytes])
        for node in nodes:
            used = self.used[node.number] = self.model.new_bool_var("")
            self.model.add(sum(self._held(node)) <= node.devices * used)
            for number in range(len(self.problem.options)):
                self._replicas(node, number, [item for item in options if item[0] == number], sets)

    def _held(self, node: Node) -> list[cp_model.IntVar]:
        return [count for (number, _), count in self.holding.items() if number == node.number]

    def _allowed(
        self, options: Sequence[tuple[int, cp_model.IntVar, Option]], models: Models, usable: int
    ) -> cp_model.IntVar:
        """Return whether these models may share a device."""
        allowed = self.model.new_bool_var("")
        held = [(taken, option) for number, taken, option in options if number in models]
        self.model.add(total([(taken, option.size_bytes) for taken, option in held]) <= usable).only_enforce_if(allowed)
        self.model.add(total([(taken, option.busy) for taken, option in held]) <= WHOLE).only_enforce_if(allowed)
        return allowed

    def _replicas(
        self,
        node: Node,
        number: int,
        options: Sequence[tuple[int, cp_model.IntVar, Option]],
        sets: Sequence[Models],
    ) -> None:
        """Add that the devices which hold a model are those of whole replicas of the chosen size."""
        shards: Terms = []
        for devices in sorted({option.tensor_parallel for _, _, option in options}):
            most = node.devices // devices
            count = self.model.new_int_var(0, most, "")
            chosen = [taken for _, taken, option in options if option.tensor_parallel == devices]
            self.model.add(count <= most * sum(chosen))
            self.replicas[node.number, number, devices] = count
            shards.append((count, devices))
        held = [self.holding[node.number, models] for models in sets if number in models]
        self.model.add(sum(held) == total(shards))

    def _enough(self, number: int) -> None:
        """Add that enough replicas are there, and stay whatever nodes are lost."""
        problem = self.problem
        by_node = [
            sum(count for (node, model, _), count in self.replicas.items() if (node, model) == (place.number, number))
            for place in problem.nodes
        ]
        options = problem.options[number]
        needed = total([(taken, option.replicas) for taken, option in zip(self.taken[number], options, strict=True)])
        if not problem.survive:
            self.model.add(sum(by_node) == needed)
            return
        # The nodes with the most replicas are the worst to lose: survive * level + what is above the level.
        largest = max(node.devices for node in problem.nodes)
        level = self.model.new_int_var(0, largest, "")
        above = [self.model.new_int_var(0, largest, "") for _ in problem.nodes]
        for here, over in zip(by_node, above, strict=True):
            self.model.add(over >= here - level)
        self.model.add(sum(by_node) - problem.survive * level - sum(above) >= needed)

    def _order(self) -> None:
        """Add that of alike nodes the first hold the most: no placement is lost but for their names."""
        previous: dict[tuple[int, ...], cp_model.LinearExprT] = {}
        for node in self.problem.nodes:
            here = sum(self._held(node))
            if node.alike in previous:
                self.model.add(previous[node.alike] >= here)
            previous[node.alike] = here

    def _aggregate(self, kind: int, nodes: Sequence[Node]) -> None:
        """Add what follows for all devices of a kind together, which bounds the objective from below."""
        if sum(node.devices * node.usable_bytes for node in nodes) >= _FLOAT_EXACT:
            raise BadInputError("the bytes of all nodes together exceed 2^53.", where="nodes", mend="Plan for fewer.")
        parts = self._of(kind)
        counts = [(count, node) for node in nodes for count in self._held(node)]
        held = total([(taken, option.shards * option.size_bytes) for _, taken, option in parts])
        self.model.add(held <= total([(count, node.usable_bytes) for count, node in counts]))
        busy = total([(taken, option.shards * option.busy) for _, taken, option in parts])
        self.model.add(busy <= WHOLE * sum(count for count, _ in counts))

    def devices(self) -> cp_model.LinearExprT:
        """Return the devices in use."""
        return sum(self.holding.values())

    def price(self) -> cp_model.LinearExprT:
        """Return the price of the nodes in use."""
        return total([(self.used[node.number], node.price) for node in self.problem.nodes])

    def risk(self) -> cp_model.LinearExprT:
        """Return the weighted risk."""
        terms = [
            (taken, weight * option.risk)
            for taken_of, options, weight in zip(self.taken, self.problem.options, self.problem.weights, strict=True)
            for taken, option in zip(taken_of, options, strict=True)
        ]
        return total(terms)

    def work(self) -> cp_model.LinearExprT:
        """Return what decides between equals: the fewest shards, then the options that are listed first."""
        ranks = [(taken, rank) for taken_of in self.taken for rank, taken in enumerate(taken_of)]
        scale = sum(len(taken_of) for taken_of in self.taken) + 1
        shards = [(count, scale * devices) for (_, _, devices), count in self.replicas.items()]
        return total([*shards, *ranks])

    def hint(self, solver: cp_model.CpSolver) -> None:
        """Begin the next solve with this solution."""
        del self.model.proto.solution_hint.vars[:]
        del self.model.proto.solution_hint.values[:]
        for index in range(len(self.model.proto.variables)):
            variable = self.model.get_int_var_from_proto_index(index)
            self.model.add_hint(variable, solver.value(variable))

    def read(self, solver: cp_model.CpSolver) -> Placement:
        """Return the placement of a solution: devices that hold the most come first, replicas take them in order."""
        chosen = [next(index for index, taken in enumerate(row) if solver.value(taken)) for row in self.taken]
        replicas: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in chosen]
        for node in self.problem.nodes:
            sets = sorted(
                (models for number, models in self.holding if number == node.number),
                key=lambda models: (-len(models), models),
            )
            devices = [models for models in sets for _ in range(solver.value(self.holding[node.number, models]))]
            for model, index in enumerate(chosen):
                held = [device for device, models in enumerate(devices) if model in models]
                size = self.problem.options[model][index].tensor_parallel
                replicas[model] += [(node.number, tuple(held[at : at + size])) for at in range(0, len(held), size)]
        return Placement(tuple(chosen), tuple(map(tuple, replicas)))
