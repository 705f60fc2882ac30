"""Amounts of money in replies are exact: the stored digits, and no float."""

from decimal import Decimal

import pytest

from kit.http.rendering import render_json
from kit.values.amounts import LARGEST, PLACES, from_millionths, render_amount

MILLION = 10**PLACES


@pytest.mark.parametrize(
    ("millionths", "json"),
    [
        (50_000, b"0.05"),
        (1, b"0.000001"),
        (0, b"0"),
        (1_200 * MILLION, b"1200"),
        (-3_500_000, b"-3.5"),
        (LARGEST * MILLION - 1, b"999999999999.999999"),
    ],
)
def test_an_amount_is_a_json_number_with_exactly_its_digits(millionths, json):
    assert render_json({"amount": render_amount(from_millionths(millionths))}) == b'{"amount":' + json + b"}"


@pytest.mark.parametrize(("amount", "json"), [("1E+3", b"1000"), ("2.50", b"2.5"), ("-0.00", b"0")])
def test_however_a_decimal_is_written_it_is_sent_in_one_way(amount, json):
    assert render_json(render_amount(Decimal(amount))) == json
