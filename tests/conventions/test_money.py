from decimal import Decimal

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from kit.http.parsing import parse_object
from kit.http.rendering import render_json
from kit.rest.money import Amount, Money
from kit.values.currencies import CURRENCIES, round_to_minor_unit
from kit.values.decimals import (
    LARGEST,
    PLACES,
    from_millionths,
    parse_amount,
    plain,
    plain_millionths,
    render_amount,
    to_millionths,
)
from tests import factories


def test_an_amount_keeps_its_value_from_the_body_to_the_reply():
    for text in (
        "0.1", "0.10", "-0.000001", "999999999999.999999", "1000000000000", "1E+2", "0.1000000000", "12", "0", "-0.0",
    ):  # fmt: skip
        body = parse_object(f'{{"amount": {text}}}'.encode(), exact=True)
        amount = Amount().run_validation(body["amount"])
        stored = from_millionths(to_millionths(amount))
        sent = render_json({"amount": render_amount(stored)})
        assert Decimal(sent.removeprefix(b'{"amount":').removesuffix(b"}").decode()) == Decimal(text)
    assert render_json([render_amount(Decimal(text)) for text in ("2.50", "1E+3", "-0.00")]) == b"[2.5,1000,0]"


def test_an_amount_is_a_json_number_with_exactly_its_digits():
    million = 10**PLACES
    for millionths, json in (
        (50_000, b"0.05"), (1, b"0.000001"), (0, b"0"), (1_200 * million, b"1200"), (-3_500_000, b"-3.5"),
        (LARGEST * million - 1, b"999999999999.999999"),
    ):  # fmt: skip
        assert render_json({"amount": render_amount(from_millionths(millionths))}) == b'{"amount":' + json + b"}"


@given(st.integers(-(10**21), 10**21))
@example(0)
@example(-1)
@example(10_000)
@example(-2_500_000)
def test_millionths_are_written_as_their_decimal(count):
    assert plain_millionths(count) == plain(from_millionths(count))


def test_invalid_amounts_are_refused():
    for text in (
        "0.0000001", "1.0000000000000000000000000000000000000001", "1e-400", "1000000000000.000001", "1e13", "-1e300",
        "9223372036854775807", "true", "null", "[]", "{}", '"ten"', '""', '"1e2"', '"+1"', '"1,5"', '".5"', '"5."',
        '"01"', '" 1"', '"NaN"', '"Infinity"', '"0x1"', '"٣"', '"0.0000001"', f'"{"9" * 9000}"', f"1.{'9' * 500_000}",
        f'"1.{"9" * 500_000}"', f"0.{'0' * 500_000}1",
    ):  # fmt: skip
        body = parse_object(f'{{"amount": {text}}}'.encode(), exact=True)
        with pytest.raises(ValidationError):
            Amount().run_validation(body["amount"])
    with pytest.raises(ValueError, match="a number or a decimal in a string"):
        parse_amount(0.1)


def test_a_price_is_not_negative_and_names_its_currency():
    fields = Money(data={"amount": "0.10", "currency": "EUR"})
    assert fields.is_valid()
    assert fields.validated_data == {"amount": Decimal("0.1"), "currency": "EUR"}
    for data in ({"amount": "-0.1", "currency": "EUR"}, {"amount": 1}, {"currency": "EUR"}, 5, {"amount": 1, "x": 1}):
        assert not Money(data=data).is_valid()


def test_a_currency_is_an_iso_4217_code_in_use():
    for code in (
        "eur", "EURO", "XXX", "XAU", "XTS", "DEM", "HRK", "", "US", 840, None,
    ):  # fmt: skip
        money = Money(data={"amount": 1, "currency": code})
        assert not money.is_valid()
        assert list(money.errors) == ["currency"]
    assert {"USD", "EUR", "GBP", "JPY", "BHD", "CLF", "ZAR"} <= set(CURRENCIES)
    assert 150 < len(CURRENCIES) < 190


def test_figures_are_rounded_half_to_even_to_the_currencys_minor_unit():
    for amount, currency, rounded in [
        ("2.345", "USD", "2.34"), ("2.355", "USD", "2.36"), ("2.3451", "EUR", "2.35"), ("-0.005", "EUR", "0"),
        ("1234.5", "JPY", "1234"), ("0.0005", "BHD", "0"), ("0.0015", "KWD", "0.002"), ("0.00005", "CLF", "0"),
    ]:  # fmt: skip
        assert round_to_minor_unit(Decimal(amount), currency) == Decimal(rounded), amount


def test_numbers_of_other_bodies_are_floats_as_before():
    assert parse_object(b'{"wordCount": 1.5}') == {"wordCount": 1.5}
    assert orjson.dumps(parse_object(b'{"wordCount": 1.5}')) == b'{"wordCount":1.5}'


DIGITS = "1" * 1_000_001  # more than Python's decimals compute with


def amount_fields() -> list[tuple[type, str]]:
    """Return each amount that a body may have, as its serializer and the field's name."""
    found, waiting = [], [serializers.Serializer]
    while waiting:
        known = waiting.pop()
        waiting += known.__subclasses__()
        declared = getattr(known, "_declared_fields", {})
        found += [
            (known, name) for name, field in declared.items() if isinstance(field, Amount) and not field.read_only
        ]
    return found


def test_more_digits_than_a_decimal_may_have_are_refused_by_every_field_of_an_amount():
    fields = amount_fields()
    assert {"GrantSerializer", "PaymentSerializer", "AdjustmentSerializer", "Money"} <= {
        one.__name__ for one, _ in fields
    }
    for serializer, name in fields:
        for digits in (DIGITS, f"0.{DIGITS}", "1" * 61):
            with pytest.raises(ValidationError) as caught:
                serializer._declared_fields[name].run_validation(digits)
            assert caught.value.detail == ["Must have at most 60 digits."], (serializer, name)


def test_more_digits_than_a_decimal_may_have_are_a_422_that_names_the_field(api, account):
    customer, item = factories.requester(account).requester_id, factories.content(account).pk
    wallet = api.post("/v1/wallets", {"requesterId": customer, "unit": "EUR"})["id"]
    dates = {"startsAt": "2026-01-01T00:00:00Z", "expiresAt": "2027-01-01T00:00:00Z"}
    licence = {"requesterId": customer, "licenseType": "t", "contentIds": [item], **dates}
    price = {"amount": DIGITS[:61], "currency": "EUR"}
    rule = {"action": "allow", "conditions": {"licenseType": "t"}, "permissions": ["read"], "pricePerAccess": price}
    replies = {
        "amount": api.post(f"/v1/wallets/{wallet}/grants", {"amount": DIGITS}),
        "price.amount": api.post("/v1/licenses", {**licence, "price": price}),
        "rules[0].pricePerAccess.amount": api.post("/v1/policies", {"name": "P", "rules": [rule]}),
    }
    assert {reply.error["param"]: reply.status for reply in replies.values()} == dict.fromkeys(replies, 422)
