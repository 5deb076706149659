"""Sizes as people write them: exact to the byte, or refused."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import BadInputError
from solver.units import ceil_div, format_count, format_size, format_size_both, parse_size, round_up

DECIMAL = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
SCALES = DECIMAL | BINARY

amounts = st.decimals(min_value="0.001", max_value="9999", places=3)


def written(amount: Decimal) -> str:
    """Return a number as people write it: no exponent, no closing zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def parsed(text: str) -> int | None:
    """Return the bytes of a size, or None if it is refused."""
    try:
        return parse_size(text)
    except BadInputError:
        return None


class TestParseSize:
    @pytest.mark.parametrize(
        ("text", "size"),
        [
            ("40GB", 40 * 10**9),
            ("40GiB", 40 * 2**30),
            ("40 GB", 40 * 10**9),
            ("  40GB\n", 40 * 10**9),
            ("40gb", 40 * 10**9),
            ("40gib", 40 * 2**30),
            ("1.5TiB", 3 * 2**39),
            ("37.5GiB", 75 * 2**29),
            ("0.5MB", 500_000),
            ("512MiB", 2**29),
            ("1kB", 1000),
            ("1KiB", 1024),
            ("17B", 17),
        ],
    )
    def test_reads_what_people_write(self, text: str, size: int) -> None:
        assert parse_size(text) == size

    @pytest.mark.parametrize("text", ["8.19GB", "4.35GB", "1.1TB", "11.87GB", "0.3kB", "9007199254740993B"])
    def test_is_exact_where_floats_are_not(self, text: str) -> None:
        number, unit = (text[:-2], text[-2:]) if text[-2].isalpha() else (text[:-1], text[-1:])
        assert parse_size(text) == Fraction(number) * SCALES[unit]

    @settings(deadline=None)
    @given(amount=amounts, unit=st.sampled_from(sorted(set(SCALES) - {"B"})))
    def test_is_exact_for_every_amount_of_whole_bytes(self, amount: Decimal, unit: str) -> None:
        size = Fraction(amount) * SCALES[unit]
        if size.denominator == 1:
            assert parse_size(f"{written(amount)}{unit}") == size

    @settings(deadline=None)
    @given(amount=amounts, unit=st.sampled_from(sorted(BINARY)))
    def test_never_gives_more_than_was_asked(self, amount: Decimal, unit: str) -> None:
        size = Fraction(amount) * SCALES[unit]
        if size >= 1:
            assert size - 1 < parse_size(f"{written(amount)}{unit}") <= size

    @settings(deadline=None)
    @given(size=st.integers(1, 10**18))
    def test_is_exact_for_plain_bytes(self, size: int) -> None:
        assert parse_size(f"{size}B") == size

    @settings(deadline=None)
    @given(amount=st.integers(1, 10**4), unit=st.sampled_from(("kB", "MB", "GB", "TB")))
    def test_keeps_decimal_and_binary_units_apart(self, amount: int, unit: str) -> None:
        binary = f"{unit[0].upper()}iB"
        assert parse_size(f"{amount}{binary}") > parse_size(f"{amount}{unit}")

    @pytest.mark.parametrize("text", ["40", " 40 ", "40.5", "0", "1e9", "+40", "-40", "\N{ARABIC-INDIC DIGIT FOUR}"])
    def test_refuses_a_number_without_a_unit(self, text: str) -> None:
        with pytest.raises(BadInputError):
            parse_size(text)

    @pytest.mark.parametrize("text", ["40", "40.5"])
    def test_says_that_the_unit_is_missing(self, text: str) -> None:
        with pytest.raises(BadInputError, match="no unit") as caught:
            parse_size(text, flag="--budget-per-device")
        assert "--budget-per-device" in str(caught.value)
        assert "40GiB" in str(caught.value)

    @pytest.mark.parametrize("text", ["-3GB", "0GB", "0.0GiB", "0B", "\N{MINUS SIGN}3GB", "0.4B"])
    def test_refuses_what_is_not_positive(self, text: str) -> None:
        with pytest.raises(BadInputError):
            parse_size(text)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " ",
            "GB",
            "x",
            "40XB",
            "40 gigabytes",
            "fortyGB",
            "GB40",
            "nanGB",
            "infGB",
            "0x10GB",
            "40GB/s",
            "40 000GB",
        ],
    )
    def test_refuses_what_is_no_size(self, text: str) -> None:
        with pytest.raises(BadInputError):
            parse_size(text)

    @pytest.mark.parametrize("text", ["1,5GB", "1.2.3GB", "1/2GB", "12 GB GB", "12GB 5", "12:30GB", "12GB;"])
    def test_refuses_what_it_could_read_in_part_only(self, text: str) -> None:
        with pytest.raises(BadInputError):
            parse_size(text)

    @pytest.mark.parametrize("text", ["12bit", "40Gbit", "40Gibit"])
    def test_refuses_bits(self, text: str) -> None:
        with pytest.raises(BadInputError):
            parse_size(text)

    @pytest.mark.parametrize(
        ("text", "exact"),
        [
            ("1e3GB", 10**12),
            ("+40GB", 40 * 10**9),
            ("\N{FULLWIDTH DIGIT ONE}\N{FULLWIDTH DIGIT TWO}GB", 12 * 10**9),
            ("12\N{NO-BREAK SPACE}GB", 12 * 10**9),
            (".5GB", 5 * 10**8),
            ("5.GB", 5 * 10**9),
            ("1_000GB", 10**12),
            ("1000000000000000000000GB", 10**30),
            ("123456789.123456789GB", 123456789123456789),
            ("1e400GB", 10**409),
        ],
    )
    def test_is_exact_or_refuses_what_is_unusual(self, text: str, exact: int) -> None:
        assert parsed(text) in (exact, None)

    @settings(deadline=None)
    @given(st.text(max_size=12))
    def test_ends_in_a_size_or_in_a_clear_refusal(self, text: str) -> None:
        size = parsed(text)
        assert size is None or size > 0


class TestFormatSize:
    @pytest.mark.parametrize(
        ("size", "decimal", "binary"),
        [
            (0, "0 B", "0 B"),
            (999, "999 B", "999 B"),
            (1000, "1.00 kB", "1000 B"),
            (1024, "1.02 kB", "1.00 KiB"),
            (11_870_000_000, "11.87 GB", "11.05 GiB"),
            (40 * 2**30, "42.95 GB", "40.00 GiB"),
            (1_500_000_000_000, "1.50 TB", "1.36 TiB"),
            (-5_000_000_000, "-5.00 GB", "-4.66 GiB"),
        ],
    )
    def test_takes_the_largest_unit_that_fits(self, size: int, decimal: str, binary: str) -> None:
        assert format_size(size) == decimal
        assert format_size(size, binary=True) == binary

    @pytest.mark.parametrize("size", [999_999, 999_999_999, 999_999_999_999])
    def test_carries_over_to_the_next_unit_when_it_rounds_up(self, size: int) -> None:
        assert not format_size(size).startswith("1000.00")

    def test_shows_the_digits_asked_for(self) -> None:
        assert format_size(11_870_000_000, digits=0) == "12 GB"
        assert format_size(11_870_000_000, digits=3) == "11.870 GB"

    def test_of_both_kinds_gives_the_exact_bytes_too(self) -> None:
        assert format_size_both(12 * 10**9) == "12.00 GB = 11.18 GiB (12,000,000,000 B)"

    @settings(deadline=None)
    @given(size=st.integers(1, 10**15), binary=st.booleans())
    def test_is_read_back_to_what_it_shows(self, size: int, binary: bool) -> None:
        shown = parse_size(format_size(size, binary=binary))
        assert abs(shown - size) <= max(1, size / 100)


class TestFormatCount:
    @pytest.mark.parametrize(
        ("count", "text"),
        [(0, "0"), (999, "999"), (8_190_735_360, "8.19 B"), (134_515_008, "135 M"), (1_026_408_209_408, "1.03 T")],
    )
    def test_names_models_as_people_do(self, count: int, text: str) -> None:
        assert format_count(count) == text

    @pytest.mark.parametrize("count", [999_600, 999_700_000, 999_999_999_999])
    def test_shows_no_exponent(self, count: int) -> None:
        assert "e+" not in format_count(count)


class TestIntegers:
    @settings(deadline=None)
    @given(numerator=st.integers(-(10**30), 10**30), denominator=st.integers(1, 10**12))
    def test_quotients_are_rounded_up_exactly(self, numerator: int, denominator: int) -> None:
        quotient = ceil_div(numerator, denominator)
        assert (quotient - 1) * denominator < numerator <= quotient * denominator

    @settings(deadline=None)
    @given(value=st.integers(0, 10**30), multiple=st.integers(1, 10**12))
    def test_multiples_are_the_least_that_fit(self, value: int, multiple: int) -> None:
        rounded = round_up(value, multiple)
        assert rounded % multiple == 0
        assert value <= rounded < value + multiple
