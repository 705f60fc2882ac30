"""What spreadsheets write where they do not write UTF-8: UTF-16 with its mark, and Windows-1252 in Western Europe."""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE

NAMES = {"utf-16": "UTF-16", "cp1252": "Windows-1252"}


def encoding_of(raw: bytes) -> str | None:
    """The encoding of a file that is certainly not UTF-8; None where it is, or where nothing fits."""
    if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16" if decodes(raw, "utf-16") else None
    if decodes(raw, "utf-8") or b"\0" in raw:
        return None
    # A file of UTF-8 with a slip in it has other letters that are right: then each bad row is told of.
    letters = raw.decode("utf-8", "ignore")
    return "cp1252" if letters.isascii() and decodes(raw, "cp1252") else None


def decodes(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
