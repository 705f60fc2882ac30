import subprocess
import sys

import pytest

from config.pages import openapi_document
from tests.clients import generate

HOW = "`python -m tests.clients.generate` writes it anew."


@pytest.mark.parametrize("path", [generate.PYTHON / "types.py", generate.TYPESCRIPT / "schema.ts"])
def test_types_are_of_the_schemas_that_the_service_has(path):
    assert generate.digest(openapi_document()) in path.read_text().partition("\n")[0], HOW


def test_the_operations_are_those_of_the_document():
    document = openapi_document()
    assert (generate.TYPESCRIPT / "amounts.ts").read_text() == generate.typescript_amounts(document), HOW
    assert (generate.TYPESCRIPT / "operations.ts").read_text() == generate.typescript_operations(document), HOW
    made = generate.python_operations(document)
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "-"], input=made, capture_output=True, text=True, check=True
    )
    assert (generate.PYTHON / "operations.py").read_text() == formatted.stdout, HOW


def test_a_name_of_money_is_no_other_number_in_the_same_reply():
    """Clients recognise money by the field's name, with its object's where that is needed."""
    document = openapi_document()
    schemas = document["components"]["schemas"]
    for answer, names in generate.amounts(document).items():
        if answer not in ("Event", "SentEvent"):
            numbers = generate.number_fields(schemas, schemas[answer], "")
            others = {one for number in numbers if not number.is_money for one in (number.name, ".".join(number[:2]))}
            assert set(names) & others == set(), answer
    assert "credits.remaining" in generate.amounts(document)["Decision"]
    assert "amount" in generate.amounts(document)["Policy"]
