"""A pytest plugin that adds a temporary fact, a condition on it, and a second condition on a fact that has one.

Each is one table row.

The rows are inserted into the sources on import, so no other code can depend on them.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

FACT = """
    country: Annotated[
        str | None,
        Fact(
            name="requesterCountry",
            path="requester.country",
            type=Annotated[str, Meta(min_length=2, max_length=2)],
            description="Where the requester is.",
            label="Country",
            field="Country",
            words="in the country {}",
        ),
    ] = None
"""
CONDITION = """
    ConditionType(
        name="requesterCountry",
        kind=ConditionKind.VALUES,
        reads="country",
        build=membership_test("requesterCountry", text_reader(2), "country"),
        schema=one_or_more_schema(text_schema(2), "Countries"),
        holds_if="the requester is in that country, or in one of those",
        words="the customer is in {}",
        position=99,
        label="Country of the requester",
    ),
    ConditionType(
        name="hasAttributes",
        kind=ConditionKind.FLAG,
        reads="attributes",
        build=lambda value, path: Condition(
            "hasAttributes",
            parse_flag(value, path),
            lambda facts: bool(facts.attributes) is value,
            lambda facts: bool(facts.attributes),
        ),
        schema={"type": "boolean"},
        holds_if="the requester has attributes; `false`: it has none",
        words="the customer has attributes",
        words_if_false="the customer has no attributes",
        position=98,
        label="Has attributes",
    ),
"""
# The row, and the source text before which it is inserted.
ROWS = {
    "licensing.policies.facts": (FACT, "\n\n# Recorded for people; rules cannot use them"),
    "licensing.policies.conditions": (CONDITION, ")\nCONDITIONS = {"),
}


class LoaderWithRow(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        row, end = ROWS[fullname]
        source = self.get_source(fullname) or ""
        if source.count(end) != 1:
            raise ImportError(f"{fullname} has no single place for a row before {end!r}")
        return compile(source.replace(end, row + end), self.path, "exec", dont_inherit=True)


class FinderWithRows(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in ROWS else None
        if spec is not None and spec.origin is not None:
            spec.loader = LoaderWithRow(fullname, spec.origin)
        return spec


sys.meta_path.insert(0, FinderWithRows())
