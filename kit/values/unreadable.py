"""Messages about files that a command cannot read."""


def read_error(path: object, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"There is no file {path}."
    return f"{path} cannot be read: {error.strerror or error}."
