"""The constants and settings that comments and docstrings name exist."""

import ast
import io
import re
import signal
import tokenize
from collections.abc import Iterator
from http import HTTPMethod
from itertools import chain
from pathlib import Path

from django.conf import settings
from sqlparse import keywords

from tests.source_files import PRODUCT, ROOT, sources

FOLDERS = (*PRODUCT, "launcher")
# Words in capitals, qualified or not; no parts of paths, addresses, headers, file names, formats and `<PLACES>`.
CAPITALS = re.compile(r"(?<![\w.$%<>/-])(?:\w+\.)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*(?![\w/>-]|\.\w)")
LINT_CODES = re.compile(r"#\s*noqa:.*")
LONGEST_ACRONYM = 6
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
TERMS = frozenset(
    chain(keywords.KEYWORDS, keywords.KEYWORDS_COMMON, keywords.KEYWORDS_PLPGSQL, HTTPMethod.__members__, vars(signal))
)


def identifiers(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the names that a module defines, imports or uses."""
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.alias(name=name):
                yield name


def strings(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the strings of a module; some are names of environment variables."""
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)):
                yield text


def prose(text: str, nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the comments and docstrings of a module."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield LINT_CODES.sub("", token.string)
    for node in nodes:
        if isinstance(node, DOCUMENTED):
            yield ast.get_docstring(node) or ""


def is_term(word: str) -> bool:
    """Whether a word is an acronym, a keyword of SQL, a method of HTTP or a signal."""
    return word in TERMS or ("_" not in word and len(word) <= LONGEST_ACRONYM)


def test_names_in_prose_exist():
    """A bare name is the module's or a setting; with a qualifier, as in `usage.MAX_PAGES`, it is the product's."""
    texts = {path: path.read_text() for path in sources(*FOLDERS)}
    nodes = {path: list(ast.walk(ast.parse(text))) for path, text in texts.items()}
    variables = set(chain.from_iterable(map(strings, nodes.values())))
    used_names = {path: set(identifiers(of_module)) for path, of_module in nodes.items()}
    product_names = set().union(*used_names.values())
    dangling: list[tuple[Path, str]] = []
    for path, text in texts.items():
        for word in chain.from_iterable(map(CAPITALS.findall, prose(text, nodes[path]))):
            qualifier, _, name = word.rpartition(".")
            known = product_names if qualifier else used_names[path]
            if not (name in known or name in variables or hasattr(settings, name) or is_term(name)):
                dangling.append((path.relative_to(ROOT), word))
    assert not dangling
