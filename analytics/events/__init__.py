"""The recorded decisions: their partitions, how long they stay, how many are looked through."""
