"""Files for the proxies of a site."""
