"""The book around the package: its notebooks, their evidence, its pages and its releases.

``edition`` imports ``dueling``, never the other way. A notebook imports ``notebook``, ``store``,
``tables``, ``witness`` and, in the back matter, ``verdicts``, ``sentences`` and ``backmatter``;
``run`` executes the notebooks side by side (``execute``, one of them), ``sphinx`` shows them,
``release`` is for who cites and compares.
``install`` sets up the environment, before anything is installed.
"""
