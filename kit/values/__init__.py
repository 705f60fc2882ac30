"""Value types shared by every layer: ids, amounts, currencies, timestamps, numbers, JSON, networks."""
