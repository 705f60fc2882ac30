"""Values that cross every border: ids, amounts, currencies, timestamps, numbers."""
