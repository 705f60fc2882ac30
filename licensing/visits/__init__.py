"""Who came to the edge, and what was answered: counts by day of the recorded decisions."""
