"""Published counts are explained by named causes only, and by the fewest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.intake.cache_group import CacheGroup
from solver.intake.inventory import Difference, Inventory
from solver.intake.published import MASKS, ROTARY, TIED_HEAD, explain
from solver.intake.shares import BUFFERS, MTP, PACKED, SCALES

HIDDEN, VOCAB, BLOCKS, CONTEXT, HEAD = 1000, 70_001, 7, 512, 64
TOTAL = 10**9


def inventory(*differences: Difference, tied: bool = False, context: int | None = None) -> Inventory:
    return Inventory(
        dtype="bfloat16",
        elements_total=TOTAL,
        checkpoint_bytes=2 * TOTAL,
        hidden_size=HIDDEN,
        vocab_size=VOCAB,
        blocks=BLOCKS,
        max_context=context,
        tied_embeddings=tied,
        layers=(),
        others=(),
        caches=(CacheGroup(kind="full", blocks=BLOCKS, kv_heads=4, key_elements=HEAD, value_elements=HEAD),),
        differences=differences,
    )


CAUSES = (
    Difference(cause=PACKED, elements=-300_000_000),
    Difference(cause=SCALES, elements=40_000_000),
    Difference(cause=MTP, elements=5_000_000),
    Difference(cause=BUFFERS, elements=600_000),
)


class TestExplain:
    @given(st.sets(st.sampled_from(CAUSES)))
    def test_any_causes_that_a_count_holds_are_found(self, held: set[Difference]) -> None:
        found = explain(TOTAL + sum(cause.elements for cause in held), inventory(*CAUSES))
        assert set(found.causes) == held
        assert found.unexplained == 0

    @given(st.integers(-(10**9) + 1, 10**10))
    def test_causes_and_the_rest_make_the_count_always(self, difference: int) -> None:
        found = explain(TOTAL + difference, inventory(*CAUSES, tied=True, context=CONTEXT))
        assert sum(cause.elements for cause in found.causes) + found.unexplained == difference

    def test_an_equal_count_has_no_cause(self) -> None:
        found = explain(TOTAL, inventory(*CAUSES, tied=True, context=CONTEXT))
        assert (found.causes, found.unexplained) == ((), 0)

    @pytest.mark.parametrize(
        ("elements", "cause"),
        [
            (VOCAB * HIDDEN, TIED_HEAD),
            (BLOCKS * HEAD // 2, ROTARY),
            (BLOCKS * HEAD // 4, ROTARY),
            (HEAD // 2, ROTARY),
            (BLOCKS * CONTEXT**2, MASKS),
        ],
    )
    def test_what_no_configuration_states_is_named(self, elements: int, cause: str) -> None:
        found = explain(TOTAL + elements, inventory(tied=True, context=CONTEXT))
        assert [(item.cause, item.elements) for item in found.causes] == [(cause, elements)]

    def test_a_head_that_is_not_tied_is_no_cause(self) -> None:
        assert explain(TOTAL + VOCAB * HIDDEN, inventory(tied=False)).unexplained == VOCAB * HIDDEN

    def test_masks_need_a_context(self) -> None:
        assert explain(TOTAL + BLOCKS * CONTEXT**2, inventory(context=None)).unexplained == BLOCKS * CONTEXT**2

    def test_a_trifle_beside_matching_causes_stays_unexplained(self) -> None:
        found = explain(TOTAL + 5_000_017, inventory(*CAUSES))
        assert found.causes[0].cause == MTP
        assert 0 < found.unexplained <= 17

    def test_what_is_sure_is_named_where_a_rest_remains(self) -> None:
        found = explain(TOTAL + 5_050_001, inventory(*CAUSES))
        assert found.causes == CAUSES
        assert found.unexplained == 5_050_001 - sum(cause.elements for cause in CAUSES)
