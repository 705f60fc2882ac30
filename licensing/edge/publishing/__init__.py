"""What a site publishes for crawlers: the terms of its policies, as documents."""
