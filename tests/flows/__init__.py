"""How much of the project a request enters: the files, the functions, and the moves between files."""
