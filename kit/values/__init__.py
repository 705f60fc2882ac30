"""Values that every layer shares: ids, amounts, currencies, timestamps, numbers, JSON, networks."""
