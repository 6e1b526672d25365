"""The kernel of a notebook: this interpreter, and nothing of the user's own settings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OPTIONS = [  # each figure as picture and as vectors, neither of them dated
    "--IPKernelApp.log_level=50",
    "--InlineBackend.figure_formats={'png', 'svg'}",
    "--InlineBackend.print_figure_kwargs={'bbox_inches': 'tight', 'metadata': {'Date': None}}",
]
STYLE = Path(__file__).with_name("matplotlibrc")
COMMON = "X86_V3"  # NumPy's name for what x86 processors have since Haswell; newer ones have more


def manager(environment: Mapping[str, str]) -> type:
    """A kernel manager that starts the running interpreter, whatever kernelspecs are installed."""
    from jupyter_client.manager import AsyncKernelManager

    class Own(AsyncKernelManager):
        def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
            launch = [sys.executable, "-m", "ipykernel_launcher", "-f", self.connection_file]
            return [*launch, *OPTIONS, *(extra_arguments or [])]

        async def start_kernel(self, **options: Any) -> None:
            await super().start_kernel(**options | {"env": dict(environment)})

    return Own


def environment(profile: str) -> dict[str, str]:
    """The environment of a kernel: no start-up file, figure style or hash seed of the user's."""
    home = Path(sys.prefix) / "var" / "book"
    own = {
        "BOOK_PROFILE": profile,
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "MATPLOTLIBRC": str(STYLE),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONHASHSEED": "0",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        **arithmetic(),
    }
    around = os.environ | own
    if not any((home / "matplotlib").glob("fontlist*")):  # or the first figure speaks of fonts
        warm_up = [sys.executable, "-c", "import matplotlib.font_manager"]
        subprocess.run(warm_up, env=around, capture_output=True, check=False)
    return around


def vectors() -> list[str]:
    """The vector extensions of this processor that NumPy knows how to use."""
    import numpy as np

    return np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])


def arithmetic() -> dict[str, str]:
    """The environment in which NumPy rounds alike on every x86-64-v3 processor and core count."""
    alike = {"OPENBLAS_NUM_THREADS": "1"}
    if COMMON in (found := vectors()):
        newer = " ".join(name for name in found if name != COMMON)
        alike |= {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": newer}
    return alike
