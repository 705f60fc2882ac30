"""The Content-Security-Policy of pages: everything from this host only, and no inline scripts; and safe cookies."""

DIRECTIVES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",  # Swagger UI and the admin draw icons from data: URLs
    "font-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}


def content_security_policy(further: dict[str, str] | None = None) -> str:
    """Build the header's value; `further` adds or replaces directives."""
    return "; ".join(f"{name} {sources}" for name, sources in (DIRECTIVES | (further or {})).items())


def drop_quoted(header: str) -> str:
    """Remove cookies with quotation marks from a Cookie header. The service sets none.

    Decoding such a value takes quadratic time before Python 3.11.10 and 3.12.6 (CVE-2024-7592).
    """
    return header if '"' not in header else ";".join(part for part in header.split(";") if '"' not in part)
