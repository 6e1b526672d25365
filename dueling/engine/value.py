"""Values: what every thread may share, because nothing changes it."""

from types import MappingProxyType

import numpy as np


class Value:
    """The base of scenarios, sets of arms and algorithms: what is set is never set again.

    Arrays and public mappings are read-only, also after pickling.

    >>> Cardinal([0.8, 0.3], name="two").mu.flags.writeable
    False
    """

    def __setattr__(self, name, value):
        if name in vars(self):
            raise AttributeError(f"{name} of {self!r} is set for good; make another one.")
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        elif isinstance(value, dict) and name[0] != "_":
            value = MappingProxyType(value)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict:
        return {k: dict(v) if type(v) is MappingProxyType else v for k, v in vars(self).items()}

    def __setstate__(self, state: dict):
        for name, value in state.items():
            setattr(self, name, value)
