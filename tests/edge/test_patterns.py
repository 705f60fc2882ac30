"""Which pattern matches a path, in any spelling."""

import pytest
from msgspec import Struct

from kit.values.paths import normalize_path
from licensing.sites.patterns import compiled, most_specific


class Rule(Struct):
    pattern: str


@pytest.mark.parametrize(("pattern", "path", "matches"), [
    ("/", "/anything", True), ("/premium/*", "/premium/a/b", True), ("/premium/*", "/premium/", True),
    ("/premium/*", "/premium", False), ("/premium", "/premium-offers", True), ("/premium$", "/premium", True),
    ("/premium$", "/premium/a", False), ("/*.pdf$", "/a/b.pdf", True), ("/*.pdf$", "/a/b.pdf/c", False),
    ("/*.pdf$", "/a.pdf.pdf", True), ("/*.pdf", "/a/b.pdfx", True), ("/a*b*c$", "/a-b-c", True),
    ("/a*b*c$", "/a-c-b", False), ("/ab*b$", "/ab", False), ("/ab*b$", "/abb", True),
    ("/a/%70remium/*", "/a/premium/x", True), ("/caf%C3%A9/*", "/café/x", True), ("/a%2A", "/a*b", True),
    ("/a%2A", "/axb", False), ("/Premium/*", "/premium/x", False),
])  # fmt: skip
def test_a_pattern_and_a_path(pattern, path, matches):
    assert compiled(pattern).matches(normalize_path(path)) is matches


@pytest.mark.parametrize(
    "path",
    ["/premium/x", "/%70remium/x", "//premium/x", "/premium//x", "/premium%2Fx", "/premium%2fx", "/./premium/x",
     "/free/../premium/x", "/free/%2e%2e/premium/x", "/free%2f..%2fpremium/x", "/premium\\x", "/premium%5Cx",
     "/../premium/x", "/premium/x?y=/free", "/premium/x#free"],
)  # fmt: skip
def test_no_spelling_of_a_path_is_a_way_around_a_pattern(path):
    assert compiled("/premium/*").matches(normalize_path(path))


@pytest.mark.parametrize("path", ["/premium/../free/x", "/premium/%2E%2E/free/x", "/%2570remium/x", "/premium/.."])
def test_paths_that_an_origin_reads_as_another_page_do_not_match(path):
    assert not compiled("/premium/*").matches(normalize_path(path))


def test_the_longest_pattern_wins_wherever_it_stands():
    rules = [Rule("/*"), Rule("/premium/samples/*"), Rule("/premium/*")]
    assert most_specific(rules, "/premium/samples/a") is rules[1]
    assert most_specific(rules, "/premium/a") is rules[2]
    assert most_specific(rules, "/a") is rules[0]
    assert most_specific(rules[1:], "/a") is None


def test_of_equally_long_patterns_the_first_wins():
    rules = [Rule("/a*"), Rule("/*a")]
    assert most_specific(rules, "/aa") is rules[0]


def test_matching_many_wildcards_takes_linear_time():
    assert not compiled("/" + "*a" * 1000 + "b$").matches("/" + "a" * 8000)
