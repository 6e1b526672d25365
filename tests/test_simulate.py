"""Many runs: the same bits however they are spread, each run on its own stream."""

import os
import signal
import subprocess
import sys
import threading
import time
from zlib import crc32

import joblib
import numpy as np
import pytest
from conftest import Ten, plain, same

from dueling import (
    ALGORITHMS,
    BTMB,
    IF,
    UCB,
    Algorithm,
    Cardinal,
    Champion,
    MultiSBM,
    Preferences,
    Single,
    Sparring,
    Uniform,
    Utilities,
    beta,
    linear,
    scenario,
    simulate,
)
from dueling.engine import simulation as engine
from dueling.engine.runs import stream
from dueling.reductions import sparring
from dueling.section7 import OURS

ARITH = scenario("arith/linear")


def link_of_a_reader(a, b):
    return 0.5 + (a - b) ** 3 / 2


RANDOM = Utilities([0.8, 0.5, 0.3], link_of_a_reader, beta(5), name="random")


@pytest.fixture(scope="module")
def alone():
    return plain(RANDOM, MultiSBM(Ten), T=60, runs=9, realised=True)


# However the runs are spread


def test_there_are_no_more_threads_than_tasks(monkeypatch):
    asked, pool = [], engine.ThreadPool
    monkeypatch.setattr(engine, "ThreadPool", lambda n: asked.append(n) or pool(n))
    simulate("YJ", "IF", 5, 3, compiled=False, workers=10**6)
    simulate("YJ", "IF", 5, 3, compiled=False, workers=2, chunk=1)
    assert asked == [3, 2]


@pytest.mark.parametrize("chunk", [1, 7, 9, 100, None])
@pytest.mark.parametrize("workers", [1, 2, 8])
def test_workers_and_chunks_do_not_matter(alone, workers, chunk):
    spread = simulate(
        RANDOM, MultiSBM(Ten), 60, 9, realised=True, compiled=False, workers=workers, chunk=chunk
    )
    assert same(spread, alone) and spread.about == alone.about


@pytest.mark.parametrize("workers", [2, 8])
def test_compiled_threads_do_not_matter(workers):
    want = plain("arith/linear", Uniform(), T=500, runs=9)
    assert same(simulate("arith/linear", Uniform(), 500, 9, workers=workers, chunk=1), want)


def notebook(machine):
    """The class as if a notebook's cell defined it: sent to processes by value."""
    return type("Cell", (machine,), {"__module__": "__main__"})


@pytest.mark.slow
def test_processes_give_the_same_bits(alone):
    cell = MultiSBM(notebook(Ten))
    own = plain(RANDOM, cell, T=60, runs=9, realised=True)
    with joblib.parallel_config(backend="loky"):
        spread = simulate(RANDOM, cell, 60, 9, realised=True, compiled=False, workers=2, chunk=4)
    assert same(spread, own) and np.array_equal(spread.plays, alone.plays)


def test_processes_without_a_generator_of_results_give_the_same_bits():
    with joblib.parallel_config(backend="multiprocessing"):
        spread = simulate("YJ", "IF", 60, 9, compiled=False, workers=2, chunk=4)
    assert same(spread, plain("YJ", "IF", T=60, runs=9))


@pytest.mark.slow
def test_a_cluster_of_two_processes_gives_the_same_bits(alone):
    distributed = pytest.importorskip("distributed")
    want = plain("arith/linear", Uniform(), T=60, runs=9)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(**options, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        assert len(set(client.run(os.getpid).values()) | {os.getpid()}) == 3
        assert same(simulate("arith/linear", Uniform(), 60, 9, chunk=2), want)
        spread = simulate(RANDOM, MultiSBM(Ten), 60, 9, realised=True, compiled=False, chunk=4)
    assert same(spread, alone)


# Streams


@pytest.mark.parametrize("algorithm", ["Sparring", "Doubler", "BTMB", Uniform()], ids=str)
def test_a_run_does_not_depend_on_how_many_there_are(algorithm):
    few, many = (plain("geom/logit", algorithm, T=50, runs=runs) for runs in (2, 5))
    for name in few.arrays:
        assert np.array_equal(few.arrays[name], many.arrays[name][:2])
    assert not np.array_equal(many.plays[0], many.plays[1])


def test_a_run_is_the_stream_of_its_scenario_and_number():
    """The documented recipe, by hand: SeedSequence(seed, spawn_key=(crc32(name), run))."""
    key = (crc32(b"arith/linear"), 3)
    rng = np.random.default_rng(np.random.SeedSequence(77, spawn_key=key))
    p = rng.permutation(6)
    plays = np.zeros((2, 6, 6), int)
    for _ in range(30):
        x, y = int(rng.random() * 6), int(rng.random() * 6)
        plays[int(rng.random() < ARITH.P[p[x], p[y]]), p[x], p[y]] += 1
    assert np.array_equal(plain("arith/linear", Uniform(), 30, 4, seed=77).plays[3], plays)


def test_realised_regret_is_drawn_from_a_stream_of_its_own():
    """Its key has the algorithm's name and a 1, also where all algorithms share the runs' keys."""
    result = plain(RANDOM, Uniform(), 30, 4, seed=77, realised=True)
    run, own = (crc32(RANDOM.name.encode()), 3), (crc32(b"Uniform"), 1)
    rngs = [
        np.random.default_rng(np.random.SeedSequence(77, spawn_key=key)) for key in (run, run + own)
    ]
    game = RANDOM.game(30, result.checkpoints, rngs[0])
    Uniform().play(game, compile=False)
    assert np.array_equal(result.realised[3], RANDOM.realised(game, rngs[1], "average"))


def test_the_streams_of_the_book_stay_as_they_are():
    """A change here changes every stored result."""
    draws = stream(ARITH, ALGORITHMS["IF"], 2014, 0).random(2)
    assert draws.tolist() == [0.15838127473481511, 0.08120898046488345]


def recorded(algorithm, common):
    """The permutations that the runs of an algorithm meet."""
    seen = []

    class Spied(Preferences):
        def game(self, T, checkpoints, rng, permute=True):
            game = super().game(T, checkpoints, rng, permute)
            seen.append(game.order.tolist())
            return game

    plain(Spied(ARITH.P, "spied"), algorithm, T=5, runs=6, common=common)
    return seen[2:]  # the first two are the rehearsal's


def test_common_random_numbers_give_all_algorithms_the_same_arms():
    one, two = recorded(Uniform(), True), recorded(Sparring(UCB), True)
    assert one == two and len({tuple(p) for p in one}) > 3
    assert recorded(Uniform(), False) != recorded(Sparring(UCB), False)
    assert recorded(Uniform(), False) != one


def test_common_random_numbers_are_the_same_uniforms():
    """Two names for one algorithm: equal bits with common numbers, others without."""
    one, two = (Algorithm.of(sparring, UCB, UCB, name=name) for name in ("one", "two"))
    assert same(plain("YJ", one), plain("YJ", two))
    assert not same(plain("YJ", one, common=False), plain("YJ", two, common=False))


def test_scenario_and_seed_choose_the_stream():
    P = ARITH.P
    one, two = (plain(Preferences(P, name), Uniform()) for name in ("a", "b"))
    assert not same(one, two)
    assert not same(plain("YJ", Uniform()), plain("YJ", Uniform(), seed=1))


def test_arms_are_permuted_uniformly_or_not_at_all():
    P = np.full((3, 3), 0.5)
    first = plain(Preferences(P), MultiSBM(UCB, ties="first"), T=1, runs=600)
    counts = first.advances.sum(axis=0)
    assert abs(counts - 200).max() < 5 * (600 * 2 / 9) ** 0.5
    fixed = plain(Preferences(P), MultiSBM(UCB, ties="first"), T=1, runs=5, permute=False)
    assert fixed.advances.tolist() == [[1, 0, 0]] * 5


# Checkpoints and regrets


@pytest.mark.parametrize("algorithm", ["Sparring", "Doubler", "IF", "BTMB"])
def test_values_do_not_depend_on_the_other_checkpoints(algorithm):
    every = plain("arith/natural", algorithm, T=70, checkpoints=range(1, 71), realised=True)
    some = plain("arith/natural", algorithm, T=70, checkpoints=[3, 20, 70], realised=True)
    assert np.array_equal(every.regret[:, [2, 19, 69]], some.regret)
    assert np.allclose(every.realised[:, [2, 19, 69]], some.realised)
    assert np.array_equal(every.plays, some.plays)


def test_default_checkpoints_double_and_end_at_T():
    assert plain("YJ", "IF", T=20).checkpoints.tolist() == [1, 2, 4, 8, 16, 20]
    assert plain("YJ", "IF", T=16).checkpoints.tolist() == [1, 2, 4, 8, 16]
    assert plain("YJ", "IF", T=1).checkpoints.tolist() == [1]


@pytest.mark.parametrize("regret", ["average", "choice", "preference"])
def test_the_curve_is_the_table_over_the_plays(regret):
    result = plain("geom/natural", "Sparring", T=200, regret=regret)
    table = scenario("geom/natural").table(regret)
    want = (result.plays.sum(axis=1) * table).sum(axis=(1, 2))
    assert np.allclose(result.regret[:, -1], want) and result.about["regret"] == regret


def test_all_algorithms_of_the_paper_are_there_by_name():
    assert list(ALGORITHMS) == ["Sparring", "MultiSBM", "Doubler", "IF", "BTMB"]
    names = [str(a) for a in ALGORITHMS.values()]
    assert names[:3] == [f"{r}(UCB, alpha=3)" for r in ("Sparring", "MultiSBM", "Doubler")]
    for name in ALGORITHMS:
        assert plain("YJ", name, T=30, runs=1).plays.sum() == 30


def test_champion_has_a_name_apart_from_the_papers_five():
    assert not OURS.keys() & ALGORITHMS.keys()
    by_name, by_value = (plain("YJ", a, T=30) for a in ("Champion", Champion(UCB, alpha=3.0)))
    assert same(by_name, by_value) and by_name.plays.sum() == 90


def test_a_cardinal_bandit_is_simulated_too():
    result = plain(Cardinal([0.2, 0.8]), Single(UCB, alpha=1.0), T=400, runs=5)
    assert (result.plays[:, :, 1].sum(axis=1) > 250).all()
    assert result.about["regret"] == "cardinal"


# The bar and Ctrl-C


def test_the_bar_is_silent_unless_asked(capfd):
    plain("YJ", Uniform())
    plain("YJ", Uniform(), progress=False)
    assert capfd.readouterr().err == ""
    plain("YJ", Uniform(), progress=True)
    assert "3/3" in capfd.readouterr().err


def test_names_tell_nearby_parameters_apart():
    algorithms = [Sparring(UCB, alpha=a) for a in (3, 3.0, 3.0000001, 1e-7)]
    algorithms += [IF(scale=s) for s in (4, 4.0000001)] + [BTMB(delta=d) for d in (0.1, 0.10000001)]
    names = [a.name for a in algorithms]
    assert names[0] == names[1] == "Sparring(UCB, alpha=3)" and len(set(names)) == 7
    assert names[3] == "Sparring(UCB, alpha=1e-07)" and names[4] == "IF2(scale=4)"
    assert names[-1] == "BTMB(scale=3, delta=0.10000001)"


LONG = """
import signal, sys
from dueling import simulate, Uniform
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
simulate("YJ", Uniform(), 10, 2)
print("ready", flush=True)
try:
    simulate("YJ", Uniform(), 10**10, 4, workers=int(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_stops_at_once_and_leaves_no_process(workers):
    with subprocess.Popen(
        [sys.executable, "-c", LONG, str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)  # the game itself takes minutes
        finally:
            process.kill()
    assert out == "interrupted\n" and err.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


TORN = """
import signal, sys
from dueling import simulate
from dueling.engine import compiled
signal.signal(signal.SIGALRM, signal.default_int_handler)
kernel, late = compiled._kernel, float(sys.argv[1])

def interrupted(*given):
    compiled._kernel = kernel
    signal.setitimer(signal.ITIMER_REAL, late)
    return kernel(*given)

compiled._kernel = interrupted
try:
    simulate("YJ", "IF", 100, 2)
    print("not interrupted")
except KeyboardInterrupt:
    print(len(simulate("YJ", "IF", 100, 2).regret))
"""


@pytest.mark.slow
@pytest.mark.parametrize("late", [0.02, 0.1, 0.3])
def test_ctrl_c_while_compiling_leaves_the_next_call_whole(late):
    """Half-way through its first compilation, numba would be left without some of its parts."""
    command = [sys.executable, "-c", TORN, str(late)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "2\n", done.stderr


@pytest.fixture
def ctrl_c():
    """A function that does to the main thread what Ctrl-C does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("workers", [1, 2])
def test_after_ctrl_c_no_further_run_begins(workers, ctrl_c):
    begun = []

    class Interrupted(Preferences):
        def game(self, *given):
            begun.append(given)
            if len(begun) == 5:  # the first two are the rehearsal's
                ctrl_c()
            return super().game(*given)

    with pytest.raises(KeyboardInterrupt):
        plain(Interrupted(ARITH.P, "it"), Uniform(), T=2000, runs=500, workers=workers, chunk=250)
    seen = len(begun)
    time.sleep(0.3)
    assert len(begun) <= seen + workers < 100


def test_linear_is_the_default_link():
    assert Utilities([0.5, 0.4]).link is linear
