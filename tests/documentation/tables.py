"""Tables in the documentation."""

from run import ROOT


def tables_of(path: str, first: str) -> list[list[list[str]]]:
    """Return the cells of a document's tables whose first column has this header, each with its header."""
    blocks = (ROOT / path).read_text().split("\n\n")
    tables = [block.strip().split("\n") for block in blocks if block.strip().startswith(f"| {first} |")]
    return [[cells(lines[0]), *map(cells, lines[2:])] for lines in tables]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]
