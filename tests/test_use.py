"""The pages on using the package: a cluster whose worker dies, times on the status page alone."""

import os
import re
import signal
import socket
from contextlib import suppress
from pathlib import Path

import joblib
import pytest
from conftest import plain, same

from dueling import Uniform, Utilities
from edition import place, tables
from edition.sphinx import about

ROOT = Path(__file__).parents[1]


class Mortal(Utilities):
    """A game that kills who begins run 2, the first time."""

    grave = None

    def game(self, T, checkpoints, rng, permute=True):
        if rng.bit_generator.seed_seq.spawn_key[1:] == (2,) and not self.grave.exists():
            self.grave.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().game(T, checkpoints, rng, permute)


@pytest.mark.slow
def test_a_worker_s_death_changes_no_bit(tmp_path):
    distributed = pytest.importorskip("distributed")
    mortal = Mortal([0.8, 0.5], name="mortal")
    mortal.grave = tmp_path / "grave"
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        survived = plain(mortal, Uniform(), T=60, runs=8, chunk=1, workers=2)
    assert mortal.grave.exists()
    assert same(survived, plain(Utilities([0.8, 0.5], name="mortal"), Uniform(), T=60, runs=8))


@pytest.mark.slow
def test_the_page_s_cluster_says_nothing_where_dask_s_usual_port_is_taken(recwarn):
    distributed = pytest.importorskip("distributed")
    text = (ROOT / "book" / "use" / "cluster.ipynb").read_text(encoding="utf-8")
    (address,) = re.findall(r'dashboard_address=\\"(.*?)\\"', text)
    options = {"n_workers": 1, "threads_per_worker": 1, "silence_logs": 50}
    with socket.socket() as taken:
        with suppress(OSError):  # another program has it
            taken.bind(("", 8787))
            taken.listen()
        distributed.LocalCluster(**options, dashboard_address=address).close()
    assert [str(w.message) for w in recwarn if "Port" in str(w.message)] == []


def test_measured_times_are_told_by_the_status_page(tmp_path, monkeypatch):
    (tmp_path / "_toc.yml").write_text("root: book/index\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOOK_PROFILE", "smoke")
    assert "seconds" in about.status(tmp_path, "smoke")
    tables.write_volatile("measured/b.md", "It took 3 s.\n")
    tables.write_volatile("measured/a.md", "It took 2 s.\n")
    assert about.status(tmp_path, "smoke").endswith("\n\nIt took 2 s.\n\n\nIt took 3 s.\n")
    assert "took" not in about.status(tmp_path, "full")
    assert not place.results(tmp_path, "smoke").exists()
