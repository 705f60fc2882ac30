"""What is wrong with a file that a command cannot read, in words."""


def read_error(path: object, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"There is no file {path}."
    return f"{path} cannot be read: {error.strerror or error}."
