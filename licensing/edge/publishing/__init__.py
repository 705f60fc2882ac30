"""Documents that tell crawlers the terms of a site's policies."""
