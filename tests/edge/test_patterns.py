from msgspec import Struct

from kit.values.paths import usual_path
from licensing.sites.patterns import RuleTable, compile_pattern


class Rule(Struct):
    pattern: str


def test_a_pattern_matches_paths_in_any_spelling():
    for pattern, path, matches in [
        ("/", "/anything", True), ("/premium/*", "/premium/a/b", True), ("/premium/*", "/premium/", True),
        ("/premium/*", "/premium", False), ("/premium", "/premium-offers", True), ("/premium$", "/premium", True),
        ("/premium$", "/premium/a", False), ("/*.pdf$", "/a/b.pdf", True), ("/*.pdf$", "/a/b.pdf/c", False),
        ("/*.pdf$", "/a.pdf.pdf", True), ("/*.pdf", "/a/b.pdfx", True), ("/a*b*c$", "/a-b-c", True),
        ("/a*b*c$", "/a-c-b", False), ("/ab*b$", "/ab", False), ("/ab*b$", "/abb", True),
        ("/a/%70remium/*", "/a/premium/x", True), ("/caf%C3%A9/*", "/café/x", True), ("/a%2A", "/a*b", True),
        ("/a%2A", "/axb", False), ("/Premium/*", "/premium/x", False),
    ]:  # fmt: skip
        assert compile_pattern(pattern).matches(usual_path(path)) is matches
    for path in [
        "/premium/x", "/%70remium/x", "//premium/x", "/premium//x", "/premium%2Fx", "/premium%2fx", "/./premium/x",
        "/free/../premium/x", "/free/%2e%2e/premium/x", "/free%2f..%2fpremium/x", "/premium\\x", "/premium%5Cx",
        "/../premium/x", "/premium/x?y=/free", "/premium/x#free",
    ]:  # fmt: skip
        assert compile_pattern("/premium/*").matches(usual_path(path))
    for path in ["/premium/../free/x", "/premium/%2E%2E/free/x", "/%2570remium/x", "/premium/.."]:
        assert not compile_pattern("/premium/*").matches(usual_path(path))
    assert not compile_pattern("/" + "*a" * 1000 + "b$").matches("/" + "a" * 8000)


def test_the_longest_pattern_wins_then_the_first():
    rules = [Rule("/*"), Rule("/premium/samples/*"), Rule("/premium/*")]
    assert RuleTable(rules).most_specific("/premium/samples/a") is rules[1]
    assert RuleTable(rules).most_specific("/premium/a") is rules[2]
    assert RuleTable(rules).most_specific("/a") is rules[0]
    assert RuleTable(rules[1:]).most_specific("/a") is None
    rules = [Rule("/a*"), Rule("/*a")]
    assert RuleTable(rules).most_specific("/aa") is rules[0]
