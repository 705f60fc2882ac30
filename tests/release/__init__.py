"""What a release consists of, and that its archive and its image run alone."""
