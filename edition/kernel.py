"""The kernel of a notebook: this interpreter, and nothing of the user's own settings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .leash import leashed
from .nursery import BARE, Forked, Nursery

OPTIONS = [  # each figure as picture and as vectors, neither of them dated
    "--IPKernelApp.log_level=50",
    "--InlineBackend.figure_formats={'png', 'svg'}",
    "--InlineBackend.print_figure_kwargs={'bbox_inches': 'tight', 'metadata': {'Date': None}}",
]
STYLE = Path(__file__).with_name("matplotlibrc")
ALIKE = {  # of the environment of every kernel
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OPENBLAS_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHONHASHSEED": "0",
}
COMMON = "X86_V3"  # NumPy's name for what x86 processors have since Haswell; newer ones have more
# What a process of the build takes over from the user: where programs, files and words are.
KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "CHROMIUM")


class Kernel:
    """The kernel of one execution, with what it cost so far; from a nursery, it begins warm.

    Its sockets are files in ``folder``, so that kernels that start together share no port.
    """

    def __init__(self, root: Path, environment: Mapping[str, str], nursery: Nursery | None = None):
        self.root, self.environment, self.nursery = root, dict(environment), nursery
        self.folder = root
        self.process: subprocess.Popen | Forked | None = None
        self.cpu, self.peak_mb = 0.0, 0

    def manager(self) -> type:
        """A kernel manager that starts the running interpreter, whatever kernelspecs there are."""
        from jupyter_client.manager import AsyncKernelManager

        kernel = self

        class Own(AsyncKernelManager):
            def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
                return kernel.command(self.connection_file, *(extra_arguments or []))

            async def _async_launch_kernel(self, command: list[str], **options: Any) -> None:
                if kernel.nursery is None:
                    return await super()._async_launch_kernel(command, **options)
                forked = kernel.fork(self.connection_file)
                self.provisioner.process = forked
                self.provisioner.pid = self.provisioner.pgid = forked.pid
                self._reconcile_connection_info(self.provisioner.connection_info)

            async def start_kernel(self, **options: Any) -> None:
                self.connection_file = str(kernel.folder / "kernel.json")
                self.transport, self.ip = "ipc", str(kernel.folder / "socket")
                place = {"env": dict(kernel.environment), "cwd": str(kernel.root)}
                await super().start_kernel(**options | place)
                kernel.process = self.provisioner.process

            async def shutdown_kernel(self, *words: Any, **options: Any) -> None:
                kernel.look()  # one that ends within a second is seen once, too
                await super().shutdown_kernel(*words, **options)

        return Own

    def command(self, connection: str, *words: str) -> list[str]:
        """The command of a cold kernel."""
        launch = [sys.executable, *BARE, "-m", "ipykernel_launcher", "-f", connection]
        return leashed([*launch, *OPTIONS, *words])

    def fork(self, connection: str) -> Forked:
        """A warm kernel of the nursery."""
        return self.nursery.kernel(["-f", connection, *OPTIONS], self.environment, self.root)

    def look(self) -> None:
        """Take note of the seconds and the memory that the kernel and its children use."""
        import psutil

        with suppress(psutil.Error, AttributeError):  # it ended, or did not start yet
            kernel = psutil.Process(self.process.pid)
            family = [kernel, *kernel.children(recursive=True)]
            self.peak_mb = max(self.peak_mb, sum(p.memory_info().rss for p in family) // 2**20)
            self.cpu = max(self.cpu, sum(sum(p.cpu_times()[:4]) for p in family))

    def kill(self) -> None:
        """End the kernel and what it started, at once."""
        if self.process and self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


def surroundings(profile: str) -> dict[str, str]:
    """The environment of any process of the build: what is kept of the user's, and the profile."""
    kept = {k: v for k, v in os.environ.items() if k in KEPT or k.startswith("LC_")}
    here = str(Path(__file__).parents[1])  # the text that runs is the text that is imported
    return kept | {"BOOK_PROFILE": profile, "PYTHONPATH": here}


def environment(profile: str) -> dict[str, str]:
    """The environment of a kernel: no start-up file, figure style or hash seed of the user's."""
    home = Path(sys.prefix) / "var" / "book"
    around = surroundings(profile) | {
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "MATPLOTLIBRC": str(STYLE),
        **ALIKE,
        **arithmetic(),
    }
    if not any((home / "matplotlib").glob("fontlist*")):  # or the first figure speaks of fonts
        warm_up = [sys.executable, "-c", "import matplotlib.font_manager"]
        subprocess.run(warm_up, env=around, capture_output=True, check=False)
    return around


def vectors() -> list[str]:
    """The vector extensions of this processor that NumPy knows how to use."""
    import numpy as np

    return np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])


def arithmetic() -> dict[str, str]:
    """The environment in which NumPy rounds alike on every x86-64-v3 processor."""
    if COMMON not in (extensions := vectors()):
        return {}
    newer = " ".join(name for name in extensions if name != COMMON)
    return {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": newer}
