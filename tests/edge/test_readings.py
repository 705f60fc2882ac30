from urllib.parse import urlsplit

from hypothesis import given, settings
from hypothesis import strategies as st

from kit.values.canonical_pages import MAX_READINGS, read_query, without_index
from kit.values.paths import read
from licensing.edge.original import escape_uri
from tests.edge.origins import ORIGINS
from tests.examples import examples

PIECES = [
    "/", "/", "/", "//", "\\", "%2f", "%5C", "%252f", "%c0%af", "premium", "premium", "a", "free", ".well-known",
    "..", "..", "%2e%2e", ".%2E", "%252e%252e", "%c0%ae%c0%ae", "..;", ";", ";x=1", "%3b", ".", "%00", "%09",
    "#", "%23", "?", "%3F", "%2523", "é", "%C3%A9", "%E9", "%25", "%",
]  # fmt: skip
PATHS = st.lists(st.sampled_from(PIECES), max_size=9).map(lambda pieces: "/" + "".join(pieces))


@settings(max_examples=examples(3_000), deadline=None)
@given(PATHS)
def test_a_page_that_some_origin_serves_is_among_the_readings(path):
    readings, is_complete = read(urlsplit(f"https://pub.example{escape_uri(path.encode().decode('latin-1'))}").path)
    for origin in ORIGINS:
        served = origin(path).rstrip("/")
        assert not is_complete or served in {one.rstrip("/") for one in readings}, (origin.__name__, served)


def test_plain_paths_have_one_reading_and_ambiguous_ones_few():
    for path, readings in [
        ("/premium/a", ["/premium/a"]),
        ("/caf%C3%A9/%20x", ["/café/ x"]),
        ("//premium/./b/../a", ["/premium/a"]),
        ("/free/..;/premium/p0", ["/free/..;/premium/p0", "/premium/p0"]),
        ("/.well-known/%252e%252e/premium/a", ["/.well-known/%2e%2e/premium/a", "/premium/a"]),
        ("/premium;x/a", ["/premium;x/a", "/premium/a"]),
        ("/100%25", ["/100%"]),
        ("/wiki/C%23", ["/wiki/C#", "/wiki/C"]),
    ]:
        assert read(path) == (tuple(readings), True)
    for path in ["/" + "%2e%2e;/\\%00%09#%252e" * 70, "/;x" * 4_000, "/%" + "25" * 4_000]:
        assert not read(path)[1]
    for name, short in [
        ("id[5]", "id"), ("id[]", "id"), ("id[a][b]", "id[a]"), ("id[a[b]", "id"), ("id]", "id]"), ("id]x]", "id]x]"),
        ("a]b[c]", "a]b"), ("[]", ""), ("id[5", "id[5"), ("id[5]x", "id[5]x"),
    ]:  # fmt: skip
        assert without_index(name) == short


def test_a_query_has_at_most_so_many_readings_as_are_followed():
    pieces = [f"%2523{number}%255B=%2523{number}" for number in range(900)]
    number = len(read_query(pieces[0]).parameters)
    assert number > MAX_READINGS // 900
    most = MAX_READINGS // number
    few, many = read_query("&".join(pieces[:most])), read_query("&".join(pieces[: most + 1]))
    assert (few.is_complete, len(few.parameters)) == (True, most * number)
    assert (many.is_complete, many.parameters) == (False, frozenset())
