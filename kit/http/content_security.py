"""The Content-Security-Policy of pages: everything from this host only, and no inline scripts."""

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
