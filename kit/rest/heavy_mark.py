"""The mark of heavy function views and methods of the admin, whose cost the client chooses.

HEAVY_THREADS of them run at once (config.asgi).
"""

from collections.abc import Callable
from typing import TypeVar

View = TypeVar("View", bound=Callable[..., object])


def heavy(view: View) -> View:
    """Mark a view as heavy for every method."""
    vars(view)["heavy"] = True
    return view
