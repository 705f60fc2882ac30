import gzip
import io
import json
import re
import zipfile

import pytest
from django.core.management import CommandError, call_command

from analytics.models import ExchangeRate
from tests.commands.calling import ended

HEADER = "Date,USD,JPY,BGN,"
FILE = f"{HEADER}\n2026-10-30,1.1172,175.68,N/A,\n2026-10-29,1.113,175.92,1.9558,\n"

pytestmark = pytest.mark.django_db


@pytest.fixture
def load(tmp_path):
    """Write a file and import it; return the result and the output."""

    def run(data, name="rates.csv", *options):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        end = ended("import_exchange_rates", path, *(options or ["--json"]))
        return (end.out if options else json.loads(end.out)), end.errors

    return run


def stored():
    return {(one.currency, str(one.day)): one.rate for one in ExchangeRate.objects.all()}


RATES = {
    ("USD", "2026-10-30"): "1.1172",
    ("JPY", "2026-10-30"): "175.68",
    ("USD", "2026-10-29"): "1.113",
    ("JPY", "2026-10-29"): "175.92",
    ("BGN", "2026-10-29"): "1.9558",
}


def zipped(**files):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)
    return raw.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        FILE, "\ufeff" + FILE.replace("\n", "\r\n"), FILE.replace(",\n", "\n"), FILE.replace(",", ", "),
        gzip.compress(FILE.encode()), zipped(eurofxref_csv=FILE, readme_txt="x"),
    ],
    ids=["plain", "with a BOM and CRLF", "without the last comma", "with spaces", "gzipped", "zipped"],
)  # fmt: skip
def test_rates_are_kept_as_they_were_published(load, data):
    result, _ = load(data)
    assert stored() == RATES
    assert (result["object"], result["rates"], result["currencies"]) == ("exchange_rate_import", 5, 3)
    assert (result["firstDay"], result["lastDay"]) == ("2026-10-29", "2026-10-30")
    assert (result["created"], result["updated"], result["unchanged"]) == (5, 0, 0)


def test_rates_are_replaced_by_different_ones_alone(load):
    load(FILE)
    result, said = load(FILE)
    assert (result["created"], result["updated"], result["unchanged"], said) == (0, 0, 5, "")
    assert stored() == RATES
    result, said = load(FILE.replace("1.1172", "1.2").replace("175.68", "175.680"))
    assert (result["updated"], result["unchanged"]) == (1, 4)
    assert said == "2026-10-30: EUR 1 = USD 1.2, was 1.1172\n"
    assert stored() == {**RATES, ("USD", "2026-10-30"): "1.2"}
    assert load("Date,USD\n2026-11-02,1.1\n")[0]["created"] == 1
    assert stored() == {**RATES, ("USD", "2026-10-30"): "1.2", ("USD", "2026-11-02"): "1.1"}


def test_without_json_it_says_a_sentence(load):
    said, _ = load(FILE, "rates.csv", "--no-color")
    assert said == "5 rates of 3 currencies from 2026-10-29 to 2026-10-30: 5 new, 0 changed, 0 as before.\n"


GOOD = "2026-10-28,1,1,1,\n"


def test_an_invalid_or_missing_file_is_refused_with_its_faults(load):
    for data, message in (
        ("", "line 1: The first column must be called Date"),
        (f"Day{HEADER[4:]}\n{GOOD}", "line 1: The first column must be called Date"),
        (f"{HEADER}\n", "has no day"),
        (f"Date,USD,usd,\n{GOOD}", "line 1: The column 'usd'"),
        (f"Date,USD,USD,BGN,\n{GOOD}", "line 1: The column 'USD' is there twice"),
        (f"Date,USD,,BGN,\n{GOOD}", "line 1: The column ''"),
        (f"Date,USD,EUR,BGN,\n{GOOD}", "line 1: The column 'EUR'"),
        (f"{HEADER}\n{GOOD}2026-10-29,1,2\n", "line 3: There are 3 cells where the header has 5"),
        (f"{HEADER}\n{GOOD}29 October 2026,1,1,1,\n", "line 3, column Date"),
        (f"{HEADER}\n{GOOD}{GOOD}", "line 3, column Date: 2026-10-28 is there twice"),
        (f"{HEADER}\n{GOOD}2026-10-29,1,0,1,\n", "line 3, column JPY: '0' is no rate"),
        (f"{HEADER}\n{GOOD}2026-10-29,1,1,-1,\n", "line 3, column BGN: '-1' is no rate"),
        (f"{HEADER}\n{GOOD}2026-10-29,1e5,1,1,\n", "line 3, column USD: '1e5' is no rate"),
        (f"{HEADER}\n{GOOD}2026-10-29,nan,1,1,\n", "line 3, column USD"),
        (f"{HEADER}\n{GOOD}2026-10-29,{'1' * 31},1,1,\n", "line 3, column USD"),
        (b"\xff\xfe", "is not text in UTF-8"),
        (gzip.compress(FILE.encode(), mtime=0)[:-20], "cannot be unpacked"),
        (zipped(a_csv=FILE, b_csv=FILE), "The archive has 2 CSV files"),
        (b"PK\x03\x04 no archive", "cannot be unpacked"),
    ):
        with pytest.raises(CommandError, match=re.escape(message)):
            load(data)
        assert stored() == {}
    with pytest.raises(CommandError, match="There is no file"):
        call_command("import_exchange_rates", "/nowhere.csv")
