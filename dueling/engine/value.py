"""Values: what every thread may share, because nothing changes it."""

from types import MappingProxyType
from typing import Any

import numpy as np


class Value:
    """The base of scenarios, sets of arms and algorithms: what is set is never set again.

    Public arrays and mappings are read-only, also in tuples and after pickling.

    >>> Cardinal([0.8, 0.3], name="two").mu.flags.writeable
    False
    """

    def __setattr__(self, name, value):
        if name in vars(self):
            self._refuse(name)
        super().__setattr__(name, value if name[0] == "_" else fixed(value))

    def _refuse(self, name):
        raise AttributeError(f"{name} of {self!r} is set for good; make another one.")

    __delattr__ = _refuse

    def __getstate__(self) -> dict:
        return {k: dict(v) if type(v) is MappingProxyType else v for k, v in vars(self).items()}

    def __setstate__(self, state: dict):
        for name, value in state.items():
            setattr(self, name, value)


def fixed(value: Any) -> Any:
    """The value, read-only: an array's view, a mapping's proxy, a tuple of such."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    elif isinstance(value, dict):
        return MappingProxyType(value)
    return tuple(map(fixed, value)) if type(value) is tuple else value
