"""Cookie parsing in linear time."""


def drop_quoted(header: str) -> str:
    """Remove cookies with quotation marks from a Cookie header. The service sets none.

    Decoding such a value takes quadratic time before Python 3.11.10 and 3.12.6 (CVE-2024-7592).
    """
    return header if '"' not in header else ";".join(part for part in header.split(";") if '"' not in part)
