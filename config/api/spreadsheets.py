"""Cells that a spreadsheet shows instead of running them."""

import re

IS_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?").fullmatch
FORMULA = tuple("=+-@＝＋－＠")  # full-width ones too, which some programs read alike


def harmless(text: str) -> str:
    """The text, with an apostrophe before what could be a formula. Numbers stay numbers."""
    risky = text.lstrip().startswith(FORMULA) or text.startswith(("\t", "\r", "\n"))
    return f"'{text}" if risky and not IS_NUMBER(text) else text
