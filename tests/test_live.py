"""A live session plays the very text: the same decisions, whatever happens to its process."""

import copy
import gc
import json
import pickle
import re
import sys
import threading
import time
from fractions import Fraction as F
from functools import partial
from io import FileIO
from math import comb, exp, log
from pathlib import Path

import numpy as np
import pytest
from conftest import Logged, Ten
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from test_properties import ALGORITHMS

from dueling import IF, KLUCB, UCB, Algorithm, Champion, MultiSBM, Single, Sparring, Thompson
from dueling.later import RMED1, RUCB, DoubleThompson, SelfSparring, VersatileDB, WinnerStays
from dueling.live import Duel, Live, interval, log_evidence
from dueling.live import log as logs
from dueling.structured import OFUL, LinearDoubler

ALL = [*ALGORITHMS, Champion(UCB), Champion(Thompson, r=0.5), Champion(KLUCB), Champion(Ten)]
ALL += [f() for f in (RUCB, RMED1, DoubleThompson, SelfSparring, VersatileDB, WinnerStays)]
NAMES = ["tea", "milk", "coffee", "water", "wine"]
algorithms, seeds = st.sampled_from(ALL), st.integers(0, 2**32)


def bad(f, *values, **options):
    """The one sentence of a refusal."""
    with pytest.raises(ValueError) as refusal:
        f(*values, **options)
    text = str(refusal.value)
    assert "\n" not in text and text[-1] in ".?"
    return text


def name_of(live, duel, x, y, b):
    """The winner's name; the duel is (x, y) in some order."""
    assert {duel.first, duel.second} == {live.arms[x], live.arms[y]}
    return live.arms[y if b else x]


def state(live):
    """All that a reader can see, now and in the next rounds if left wins."""
    known = live.known()
    return live.events, live.open, live.on(), *(np.array(part).tolist() for part in known)


# The same text


def kinds(base):
    return {base}.union(*map(kinds, base.__subclasses__()))


def test_every_algorithm_of_the_package_on_duels_of_finitely_many_arms_is_tested_here():
    """Own is a reader's own text; a structured game has no names of arms."""
    ours = {kind for kind in kinds(Algorithm) if kind.__module__.startswith("dueling.")}
    duels = {kind for kind in ours if kind.needs == "play"} - {Algorithm, LinearDoubler}
    assert {kind.__name__ for kind in duels} - {"Own"} == {
        kind.__name__ for algorithm in ALL for kind in type(algorithm).__mro__ if kind in duels
    }
    assert "cannot play on the scenario's arms, 5 (" in bad(Live, LinearDoubler(OFUL), NAMES, T=9)


@settings(max_examples=150)
@given(algorithm=algorithms, K=st.integers(2, 5), T=st.integers(1, 90), seed=seeds)
def test_live_makes_the_decisions_of_play_on_the_same_coins(algorithm, K, T, seed):
    P = np.random.default_rng(seed).random((K, K))
    np.fill_diagonal(P, 0.5)  # an arm against itself is a fair coin
    game = Logged(P, T, np.random.default_rng(seed))
    algorithm.play(game, compile=False)
    live = Live(algorithm, NAMES[:K], seed, T)
    for x, y, b in game.duels:
        duel = live.ask()
        assert live._turns.duel[:2] == (x, y)
        live.tell(duel, name_of(live, duel, x, y, b))
    assert not live.on() and not live.ready() and live.known().rounds == T
    assert "last round" in bad(live.ask)


def test_a_tie_is_a_fair_coin_to_the_text_and_half_a_vote_to_us():
    for algorithm in ALL:
        game = Logged(np.full((3, 3), 0.5), 60, np.random.default_rng(7))
        algorithm.play(game, compile=False)
        live, pairs = Live(algorithm, NAMES[:3], 7, 60), []
        while live.on():
            pairs.append(live._turns.duel[:2])
            live.tell(live.ask(), None if len(pairs) % 2 else "tie")
        assert pairs == [(x, y) for x, y, _ in game.duels], algorithm
        met = sum(x != y for x, y in pairs)
        assert live.known().ties == live.known().votes == met
        assert np.array_equal(live._wins, live._wins.T) and live._wins.sum() == met


# Killed at any moment


def judged(live, seed, steps, silent=0.1):
    """Let a random judge answer some of the open duels, in any order, and leave others out."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        if live.open and rng.random() < 0.55:
            duel = live.open[rng.integers(len(live.open))]
            if rng.random() < silent:
                live.drop(duel)
            else:
                live.tell(duel, (duel.first, duel.second, None)[rng.integers(3)])
        elif live.ready():
            live.ask()


@settings(max_examples=80)
@given(algorithm=algorithms, most=st.integers(1, 4), seed=seeds, cut=st.floats(0, 1), goes=seeds)
def test_killing_and_loading_at_any_moment_changes_nothing(
    tmp_path_factory, algorithm, most, seed, cut, goes
):
    folder = tmp_path_factory.mktemp("live")
    whole, torn = folder / "whole.log", folder / "torn.log"
    live = Live(algorithm, NAMES[:4], seed, 60, most, log=whole)
    judged(live, seed, 80)
    text = whole.read_bytes()
    head = text.index(b"\n") + 1
    torn.write_bytes(text[: head + round(cut * (len(text) - head))])  # in the middle of a line, too
    killed = Live.load(torn, algorithm)
    events = len(killed.events)
    assert killed.events == live.events[:events]
    for event in live.events[events:]:
        killed._again(*event)
    assert state(killed) == state(live)
    judged(live, goes, 30)
    judged(killed, goes, 30)
    assert state(killed) == state(live) and torn.read_bytes() == whole.read_bytes()


def test_saved_sessions_are_copies(tmp_path):
    live = Live(Champion(UCB), NAMES[:3])
    judged(live, 1, 40)
    live.save(tmp_path / "a")
    assert state(Live.load(tmp_path / "a", Champion(UCB))) == state(live)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert "new file" in bad(Live, Champion(UCB), NAMES, log=tmp_path / "a")


def test_a_log_of_another_story_is_refused(tmp_path):
    path = tmp_path / "log"
    live = Live(Sparring(UCB, alpha=3), NAMES[:3], log=path)
    judged(live, 3, 50)
    lines = path.read_text().splitlines()
    assert "UCB, alpha=3" in bad(Live.load, path, Sparring(UCB, alpha=1))
    bare = type("Bare", (Sparring,), {"settings": lambda self: {}})
    assert "'ties': 'random'" in bad(Live.load, path, bare(UCB, alpha=3))

    def changed(r, f):
        entry = json.loads(lines[r])
        path.write_text("\n".join([*lines[:r], json.dumps(f(entry)), *lines[r + 1 :], ""]))
        return bad(Live.load, path, Sparring(UCB, alpha=3))

    assert "no live log of version 1" in changed(0, lambda e: e | {"version": 2})
    assert "asks for" in changed(0, lambda e: e | {"seed": 5})
    assert "line 2 of" in changed(1, lambda e: [*e[:3], "water"])
    assert "did you mean" in changed(1, lambda e: ["answer", *e[1:]])
    assert "line 3 of" in changed(2, lambda e: 5) and "is [];" in changed(2, lambda e: [])
    path.write_text(lines[0] + "\n{\n")
    assert "line 2" in bad(Live.load, path, Sparring(UCB, alpha=3))
    path.write_text("")
    assert "line 1" in bad(Live.load, path, Sparring(UCB, alpha=3))


# Votes that do not belong


@settings(max_examples=60)
@given(algorithm=algorithms, seed=seeds, steps=st.integers(0, 60))
def test_a_vote_without_an_open_duel_is_refused_and_changes_nothing(algorithm, seed, steps):
    live = Live(algorithm, NAMES[:3], seed, 60, most=3)
    judged(live, seed, steps, silent=0.3)
    before = json.dumps(state(live), default=str)
    told = [n for kind, n, *_ in live.events[1:] if kind in ("tell", "drop")]
    wrong = [-1, 10**6, None, "0", 0.5, True, Duel(0, "x", "y"), *told]
    for duel in wrong:
        assert "it is not open" in bad(live.tell, duel, None)
        assert "it is not open" in bad(live.drop, duel)
    for duel in live.open:
        assert "winner is 'wine'" in bad(live.tell, duel, "wine")
        assert "not open" in bad(live.tell, duel._replace(first="wine"), "wine")
    assert json.dumps(state(live), default=str) == before


# Several duels out


@settings(max_examples=60)
@given(algorithm=algorithms, most=st.integers(1, 5), seed=seeds)
def test_the_text_is_told_each_pair_s_votes_in_the_order_asked_for(algorithm, most, seed):
    """A stack of outcomes for each pair: one at a time and several at once read the same."""
    K, T = 4, 60
    stacks = np.random.default_rng(seed).integers(0, 2, (K, K, 3 * T))
    plain = Live(algorithm, NAMES[:K], seed, T)
    many = Live(algorithm, NAMES[:K], seed, T, most)
    stories = []
    for live in (plain, many):
        rng, story, used, place = np.random.default_rng(seed + 1), [], np.zeros((K, K), int), {}
        tell = live._turns.answer
        live._turns.answer = lambda b, t=live._turns, s=story, f=tell: (
            s.append((*t.duel[:2], b)),
            f(b),
        )
        while live.on():
            x, y, _ = live._turns.duel
            if len(live._out[x, y]) < live.most and rng.random() < 0.7:
                place[live.ask().number] = (x, y, used[x, y])
                used[x, y] += 1
            elif live.open:
                duel = live.open[rng.integers(len(live.open))]
                x, y, at = place[duel.number]
                live.tell(duel, live.arms[(x, y)[stacks[x, y, at]]])
            assert all(len(out) <= live.most for out in live._out.values())
        stories.append(story)
        surplus = live._shown.sum() - T
        assert 0 <= surplus <= (live.most - 1) * K * K
    assert stories[0] == stories[1] and len(stories[0]) == T


def test_a_silent_judge_holds_up_the_pair_until_dropped():
    live = Live(MultiSBM(UCB), NAMES[:3], most=2)
    silent, other = live.ask(), live.ask()
    assert (silent.number, other.number) == (0, 1) and set(silent[1:]) == set(other[1:])
    live.tell(other, other.first)
    assert live.rounds == 0 and not live.ready() and "most is 2" in bad(live.ask)
    live.drop(silent)
    assert live.rounds == 1 and live.ready() and live.open == []
    assert "not open" in bad(live.tell, silent, None)


# Both orders


def test_a_random_order_makes_every_table_fair():
    """A judge who always takes the first item tells nothing for any arm, and is found out."""
    live = Live(Algorithm.of(rounds), NAMES[:2], seed=5)
    firsts = []
    for _ in range(400):
        duel = live.ask()
        firsts.append(duel.first)
        live.tell(duel, duel.first)
    known = live.known()
    assert known.first == 1 and known.order_evidence > 1e9
    assert known.low[0, 1] < 0.5 < known.high[0, 1] and known.winner is None
    assert firsts.count("tea") == live._wins[0, 1] and 150 < firsts.count("tea") < 250


def rounds(game):
    while game.on():
        game.play(0, 1)


def test_a_judge_without_eyes_for_the_order_shows_no_effect():
    live, rng = Live(Algorithm.of(rounds), NAMES[:2], seed=5), np.random.default_rng(1)
    for _ in range(400):
        live.tell(live.ask(), "tea" if rng.random() < 0.8 else "milk")
    known = live.known()
    assert known.order_evidence < 10 and abs(known.first - 0.5) < 0.1
    assert known.winner == known.leader == "tea" and known.low[0, 1] > 0.5
    assert known.regret == pytest.approx(400 * (live._wins[0, 1] / 400 - 0.5) / 2)
    assert known.regret < known.regret_most == pytest.approx(400 * (known.high[0, 1] - 0.5) / 2)
    assert str(known).startswith("tea is the winner: 400 rounds, 400 votes, regret about")
    assert np.allclose(known.low + known.high.T, 1)


def test_a_regret_is_not_estimated_below_zero():
    """Even where the judges are coins, and the leader loses more than it wins."""
    estimates = []
    for seed in range(8):
        live, rng = Live(Champion(UCB), NAMES, seed), np.random.default_rng(seed)
        for _ in range(300):
            duel = live.ask()
            live.tell(duel, None if duel.same else duel[1 + rng.integers(2)])
        estimates.append(live.known().regret)
    assert min(estimates) == 0 < max(estimates)


# The evidence


def exact_evidence(s, n):
    """2 ∫ (2q)^s (2 - 2q)^(n - s) over [1/2, 1], by the binomial sum of an incomplete beta."""
    upper = sum(F(comb(n + 1, k)) for k in range(s + 1)) / 2 ** (n + 1)
    return 2 ** (n + 1) * upper / ((n + 1) * comb(n, s))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 40])
def test_evidence_is_its_integral(n):
    for s in range(n + 1):
        assert exp(log_evidence(s, n)) == pytest.approx(float(exact_evidence(s, n)), rel=1e-10)
    halves = log_evidence(n / 2 + 0.5, n + 1)
    value, _ = integrate.quad(
        lambda q: 2 * (2 * q) ** (n / 2 + 0.5) * (2 - 2 * q) ** (n / 2 + 0.5), 0.5, 1
    )
    assert exp(halves) == pytest.approx(value, rel=1e-7)


def test_evidence_is_a_martingale_of_the_fair_coin_and_falls_below_it():
    for n in range(30):
        for s in range(n + 1):
            lose, win = exact_evidence(s, n + 1), exact_evidence(s + 1, n + 1)
            assert (lose + win) / 2 == exact_evidence(s, n)
            assert win > lose  # so a coin below 1/2 makes it fall in the mean
            tie = exp(log_evidence(s + 0.5, n + 1))
            assert tie <= float(lose + win) / 2 * (1 + 1e-12)


def chance_of_naming(p, N, threshold, evidence=log_evidence):
    """The exact chance that the evidence reaches the threshold within N votes of mean p."""
    law, named = np.array([1.0]), 0.0
    for n in range(1, N + 1):
        law = np.append(law * (1 - p), 0) + np.append(0, law * p)
        over = evidence(np.arange(n + 1.0), np.full(n + 1, float(n))) >= log(threshold)
        named += law[over].sum()
        law[over] = 0
    return named


@pytest.mark.slow
def test_the_winner_is_false_with_chance_delta_at_most():
    for delta in (0.05, 0.2):
        wrong = chance_of_naming(0.5, 3000, 2 / delta)
        assert delta / 8 < wrong <= delta / 2
        assert chance_of_naming(0.4, 500, 2 / delta) < wrong
    assert chance_of_naming(0.6, 3000, 40) > 0.999

    def often(s, n):  # a test for one moment, looked at all the time: ln of 1 over its p-value
        from scipy.stats import binom

        return -binom.logsf(s - 1, n, 0.5)

    assert chance_of_naming(0.5, 3000, 20, often) > 3 * 0.05


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.5, 0.8])
def test_an_interval_ever_misses_with_chance_delta_at_most(p):
    law, missed, delta = np.array([1.0]), 0.0, 0.1
    for n in range(1, 201):
        law = np.append(law * (1 - p), 0) + np.append(0, law * p)
        ends = np.array([interval(s, n, delta) for s in range(n + 1)])
        out = (ends[:, 0] > p) | (p > ends[:, 1])
        missed += law[out].sum()
        law[out] = 0
    assert delta / 10 < missed <= delta


def test_nothing_overflows():
    assert log_evidence(0, 10**6) == -np.inf and 6.9e5 < log_evidence(10**6, 10**6) < 7e5
    assert interval(0, 10**6)[1] < 1e-4 and interval(10**6, 10**6)[1] == 1


@pytest.mark.parametrize(("s", "n"), [(0, 0), (0, 5), (5, 5), (3, 10), (4.5, 9), (700, 1000)])
def test_intervals_end_where_the_mixture_is_one_over_delta(s, n):
    low, high = interval(s, n, 0.1)
    assert 0 <= low <= (s / n if n else 0.5) <= high <= 1
    assert interval(n - s, n, 0.1) == pytest.approx((1 - high, 1 - low))
    for p in (low, high):
        if 0 < p < 1:
            ratio, _ = integrate.quad(
                lambda q, p=p: exp(s * log(q / p) + (n - s) * log((1 - q) / (1 - p))),
                *(max(s / n - 0.2, 1e-12), min(s / n + 0.2, 1 - 1e-12)) if n > 99 else (0, 1),
            )
            assert ratio == pytest.approx(10, rel=1e-5)


# Manners


def test_threads_end_with_their_session():
    live = Live(Champion(UCB), NAMES)
    live.tell(live.ask(), None)
    thread = live._turns.thread
    assert thread.is_alive()
    del live
    gc.collect()
    thread.join(60)
    assert not thread.is_alive()


def test_a_text_that_breaks_says_so_and_asks_no_more():
    def breaks(game):
        while game.on():
            game.play(0, 1)
            if game.t == 50:
                raise ValueError("enough.")

    live = Live(Algorithm.of(breaks), NAMES)
    for _ in range(49):
        live.tell(live.ask(), None)
    assert bad(live.tell, live.ask(), None) == "enough."
    assert not live.on()


def test_bad_input_is_refused_in_a_sentence():
    assert "T is None; IF2(scale=4) asks for it" in bad(Live, IF(), NAMES)
    assert "one that plays duels" in bad(Live, Single(UCB), NAMES)
    assert "algorithm is 'Champion'" in bad(Live, "Champion", NAMES)
    for arms in ("tea", ["tea"], [1, 2], ["tea", "tea"], None, ["tea", "tie"], 3):
        assert bad(Live, Champion(UCB), arms).startswith("arms is ")
    for name, value in (("seed", -1), ("T", 0), ("most", 0), ("most", 1.5)):
        assert bad(Live, Champion(UCB), NAMES, **{name: value}).startswith(f"{name} is ")
    many = [str(x) for x in range(1001)]
    assert "at most 1000" in bad(Live, Champion(UCB), many)
    live = Live(Champion(UCB), NAMES)
    for delta in (0, 1, "x", float("nan")):
        assert "delta is " in bad(live.known, delta) and "delta is " in bad(interval, 1, 2, delta)
    for wins, duels in ((-1, 1), (2, 1), ([1], [1, 2])):
        assert "wins is " in bad(log_evidence, wins, duels)


def test_the_advance_of_a_machine_is_watched():
    class Off(Ten):
        def advance(self):
            return self.K

    assert "not an arm" in bad(Live, Champion(Off), NAMES)


# The file


def interrupted(act, n):
    """Do it, but come with a Ctrl-C before its n-th line; whether it was done before."""
    passed = []

    def trace(frame, event, arg):
        passed.append(event)
        if passed.count("line") == n:
            raise KeyboardInterrupt
        return trace

    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(usual)
    return True


@pytest.mark.parametrize("kind", ["ask", "tell", "drop"])
def test_an_interruption_leaves_a_log_that_can_be_loaded_and_never_a_broken_session(tmp_path, kind):
    """Before each line of a step: either it never began, or the session says that it is torn."""
    log, n, torn = tmp_path / "log", 0, 0
    while True:
        n += 1
        log.unlink(missing_ok=True)
        live = Live(MultiSBM(UCB), NAMES[:3], seed=4, most=2, log=log)
        silent, other = live.ask(), live.ask()
        live.tell(other, None)
        acts = {"ask": live.ask, "tell": partial(live.tell, silent, None)}
        if kind == "ask":
            live.drop(silent)
        done = interrupted(acts.get(kind, partial(live.drop, silent)), n)
        try:
            whole = live.on()
        except ValueError as refusal:
            assert "was interrupted within a step" in str(refusal)
            whole, torn = False, torn + 1
        again = Live.load(log, MultiSBM(UCB))
        assert again.events[: len(live.events)] == live.events
        assert len(again.events) - len(live.events) in ((0,) if whole else (0, 1))
        if whole:
            assert state(again) == state(live)
        else:
            live.save(tmp_path / "saved")
            assert Live.load(tmp_path / "saved", MultiSBM(UCB)).events == live.events
        if done:
            break
    assert n > 20 and torn > 10


def test_a_file_that_is_no_log_stays_as_it_is(tmp_path):
    live, log = Live(Sparring(UCB), NAMES), tmp_path / "log"
    judged(live, 1, 20)
    live.save(log)
    log.write_bytes(log.read_bytes() + b'["tell", 9')
    notes, table = tmp_path / "notes.txt", tmp_path / "table.json"
    notes.write_bytes(b"one\nand the last line, without an end")
    table.write_bytes(b'{"format": 1}')
    for path in (notes, table, log):
        before = path.read_bytes()
        bad(Live.load, path, Champion(UCB))
        assert path.read_bytes() == before
    assert Live.load(log, Sparring(UCB)).events == live.events
    assert log.read_bytes().endswith(b"]\n")


def test_a_log_that_cannot_be_written_changes_nothing(tmp_path):
    (tmp_path / "here").mkdir()
    live = Live(Champion(UCB), NAMES[:3], seed=3, log=tmp_path / "here" / "log")
    twin = Live(Champion(UCB), NAMES[:3], seed=3)
    for r in range(20):
        (tmp_path / "here").rename(tmp_path / "away")
        for _ in range(r % 3):
            with pytest.raises(OSError):
                live.ask()
        (tmp_path / "away").rename(tmp_path / "here")
        live.tell(live.ask(), None)
        twin.tell(twin.ask(), None)
    assert state(live) == state(twin)
    assert state(Live.load(tmp_path / "here" / "log", Champion(UCB))) == state(twin)


def test_a_line_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    live = Live(Champion(UCB), NAMES[:3], log=tmp_path / "log")
    before = (tmp_path / "log").read_bytes()

    class Full(FileIO):
        def write(self, text):
            return super().write(text[:5])

    with monkeypatch.context() as patch:
        patch.setattr(logs, "open", lambda path, *_, **__: Full(path, "r+"), raising=False)
        with pytest.raises(OSError, match="no room"):
            live.ask()
    assert (tmp_path / "log").read_bytes() == before and live.open == []
    live.ask()
    assert len(Live.load(tmp_path / "log", Champion(UCB)).open) == 1


def test_two_sessions_do_not_write_to_one_log(tmp_path):
    log = tmp_path / "log"
    live = Live(Champion(UCB), NAMES[:3], log=log)
    other = Live.load(log, Champion(UCB))
    other.tell(other.ask(), None)
    assert "somebody else has written" in bad(live.ask)
    assert state(Live.load(log, Champion(UCB))) == state(other) and live.open == []
    live.save(tmp_path / "mine")
    live.ask()
    assert len(Live.load(tmp_path / "mine", Champion(UCB)).open) == 1


def test_a_log_stays_where_it_was_begun(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    live = Live(Champion(UCB), ["tea", "\ud800"], log="log")
    monkeypatch.chdir(tmp_path / "elsewhere")
    live.ask()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert Live.load(tmp_path / "log", Champion(UCB)).open == live.open


def test_a_log_knows_parameters_by_what_they_say(tmp_path):
    def machine(aim):
        return type("Aimed", (Ten,), {"__init__": lambda self, K, rng, n=1, f=aim: Ten(K, rng)})

    def aims():
        return lambda x: x

    for aim in (aims, lambda: partial(aims()), object):
        one, two = (logs.head(Single(machine(aim()), n=n)) for n in (np.int64(3), 3))
        assert one["parameters"] == two["parameters"] and one["parameters"]["n"] == 3


def test_a_bad_path_is_refused_in_a_sentence(tmp_path):
    live = Live(Champion(UCB), NAMES)
    for path in (3, 1.5, True, "", b"log", ["log"], "a\0b", tmp_path / "no" / "log", tmp_path):
        assert bad(Live, Champion(UCB), NAMES, log=path).startswith("log is ")
        assert bad(live.save, path).startswith("path is ")
        assert bad(Live.load, path, Champion(UCB)).startswith("path is ")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "deep").write_text("[" * 100_000 + "\n")
    assert "line 1" in bad(Live.load, tmp_path / "deep", Champion(UCB))


# Threads and processes


def test_another_thread_waits_while_the_text_thinks():
    gate, seen = threading.Event(), []

    def thinks(game):
        while game.on():
            gate.wait(60)
            game.play(0, 1)

    gate.set()
    live = Live(Algorithm.of(thinks), NAMES[:2])
    duel = live.ask()
    gate.clear()
    judge = threading.Thread(target=live.tell, args=(duel, None))
    judge.start()
    while live._turns.duel is not None:
        time.sleep(0.001)
    looker = threading.Thread(target=lambda: seen.append((live.on(), live.ready(), live.open)))
    looker.start()
    looker.join(0.1)
    gate.set()
    judge.join(60)
    looker.join(60)
    assert seen == [(True, True, [])]


def test_a_session_belongs_to_one_process_and_has_no_copy(monkeypatch):
    live = Live(Champion(UCB), NAMES)
    duel = live.ask()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            copied(live)
    with monkeypatch.context() as patch:
        patch.setattr("os.getpid", lambda: 1)
        assert "process is 1" in bad(live.ask)
        assert "process is 1" in bad(live.tell, duel, None) and "process" in bad(live.drop, duel)
    live.tell(duel, None)


def test_votes_and_counts_of_a_wrong_shape_are_refused():
    live = Live(Champion(UCB), NAMES)
    duel = live.ask()
    for winner in (np.array(["tea", "milk"]), [], 0, True):
        assert "winner is" in bad(live.tell, duel, winner)
    assert "wins has 1 dimension" in bad(interval, [1, 2], [3, 4])
    assert "duels has 1 dimension" in bad(interval, 1, [3])


# The recipe


def recipe():
    """The program of the chapter, as a reader copies it."""
    path = Path(__file__).parents[1] / "book" / "use" / "live.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    (cell,) = (text for c in cells if "(live-recipe)=" in (text := "".join(c["source"])))
    (program,) = re.findall(r"```python\n(.*?)```", cell, re.S)
    return program


def test_the_recipe_goes_on_after_a_restart_and_names_the_winner(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taste, seen, waiting = ["tea", "coffee", "milk"], [], []
    for day in range(9):  # nine days, a restart in each night; some votes come the day after
        here = {}
        exec(recipe(), here)
        assert [duel.number for duel in here["live"].open] == [duel.number for duel in waiting]
        for _ in range(30):
            if duel := here["next_duel"]():
                seen.append(duel.number)
                waiting += [] if duel.same else [duel]
            if len(waiting) > 2 or not duel:
                duel = waiting.pop(0)
                assert here["vote"](duel.number, min(duel[1:], key=taste.index)) is None
                assert "not open" in here["vote"](duel.number, None)
        assert seen == list(range(len(seen))), "no duel is lost, and none is given twice"
        assert "winner is 'wine'" in here["vote"](waiting[0].number, "wine")
        assert (here["winner"]() == "tea") or day < 5
    assert len(seen) > 200
