"""Cookies that take linear time to read."""


def drop_quoted(header: str) -> str:
    """The Cookie header without the cookies in quotation marks. The service sets none.

    Decoding such a value takes quadratic time before Python 3.11.10 and 3.12.6 (CVE-2024-7592).
    """
    return header if '"' not in header else ";".join(part for part in header.split(";") if '"' not in part)
