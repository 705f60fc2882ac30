"""Code in the documentation: blocks, and commands in the text."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from run import ROOT

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / "clients" / name / "README.md" for name in ("python", "typescript")),
]
IS_COMMAND = re.compile(
    r"(?:(?:docker compose exec service1? )?\S*python )?manage\.py (?P<command>[a-z_]+ ?.*)", re.DOTALL
).fullmatch


class Block(NamedTuple):
    path: str
    text: str

    @property
    def first(self) -> str:
        return self.text.partition("\n")[0].strip()


@cache
def tokens() -> list[tuple[str, Token]]:
    return [
        (str(path.relative_to(ROOT)), token)
        for path in DOCUMENTS
        for token in MarkdownIt().parse(path.read_text())
        if token.type in ("fence", "code_block", "inline")
    ]


def blocks() -> Iterator[Block]:
    for path, token in tokens():
        if token.type != "inline":
            yield Block(path, token.content)


def block(path: str, first: str = "") -> str:
    """Return the text of a document's only block whose first line begins so."""
    [found] = [one.text for one in blocks() if one.path == path and one.first.startswith(first)]
    return found


def commands() -> Iterator[tuple[str, str]]:
    """Yield each documented `manage.py` command with its document, from blocks and text."""
    for path, token in tokens():
        if token.type == "inline":
            printed = [part.content for part in token.children or [] if part.type == "code_inline"]
        else:
            printed = re.findall(
                r"^(?:\S*|.* )python manage\.py .*$", token.content.replace("\\\n", " "), re.MULTILINE
            )
        for text in printed:
            if found := IS_COMMAND(" ".join(text.split())):
                yield path, found["command"]
