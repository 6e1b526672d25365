"""Defects of public code, planted one by one: a named check passes here and fails on each mutant.

A mutant is a copy of the package with one exact snippet replaced; it runs as plain Python.
"""

import importlib
import itertools
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import TWO, F, Logged, expected_plays
from test_baselines import check_btmb, check_if, table
from test_exact import enumerate_plays
from test_machines import slow_index
from test_reductions import TILTED, Spy, epochs, two_sided

import dueling
from dueling.theory import exact

PACKAGE = Path(dueling.__file__).parent
NO_NUMBA = "def compilable(f):\n    return f\n"
LEADS = [[F(1, 2), F(0)], [F(1), F(1, 2)]]
serial = itertools.count()


def mutant(tmp_path, monkeypatch, file, old, new):
    """The package with a snippet of ``file`` or ``file:function`` replaced, under its own name."""
    file, _, function = file.partition(":")
    text = (PACKAGE / file).read_text()
    start = text.index(f"\ndef {function}(") if function else 0
    end = text.index("\n\n\n", start) + 1 if function else len(text)
    body = text[start:end]
    assert body.count(old) == 1, f"{old!r} occurs {body.count(old)} times in {file}"
    name = f"mutant_{next(serial)}"
    shutil.copytree(PACKAGE, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / name / "engine" / "compiled.py").write_text(NO_NUMBA)
    (tmp_path / name / file).write_text(text[:start] + body.replace(old, new) + text[end:])
    monkeypatch.syspath_prepend(tmp_path)
    package = importlib.import_module(name)
    for module in [m for m in sys.modules if m.split(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    return package


# The checks: each takes the package to examine


def has_exact_law(d, name, P, T, alpha):
    reduction = {"sparring": d.Sparring, "multisbm": d.MultiSBM, "doubler": d.Doubler}[name]
    got = expected_plays(reduction(d.UCB, alpha=alpha, ties="first"), P, T, d.Game)
    assert (got == getattr(exact, name)(P, T, alpha, "first")[-1]).all()


def doubler_law(d):
    has_exact_law(d, "doubler", TWO, 5, -1)
    has_exact_law(d, "doubler", LEADS, 7, -1)


def doubler_epochs(d):
    """The machine is reset before rounds 1, 3, 7, 15, ..., and fed the right arm in between."""
    game = Logged(np.array(TWO, float), 100)
    S = Spy(2, game.rng)
    d.reductions.doubler(S, d.reductions.Multiset(2, game.rng), game)
    cut = epochs(game.duels)
    assert S.log == [told for epoch in cut for told in ["reset", *((y, b) for _, y, b in epoch)]]


def multisbm_law(d):
    has_exact_law(d, "multisbm", TWO, 7, 0)


def multisbm_decisions(d):
    """Every right arm has the largest index of its left arm's machine, by that machine's clock."""
    game = Logged(np.array(TWO, float), 400)
    d.MultiSBM(d.UCB, alpha=1).play(game, compile=False)
    for left in (0, 1):
        history = []
        for _, y, b in (duel for duel in game.duels if duel[0] == left):
            index = [slow_index(history, x, 1) for x in (0, 1)]
            assert index[y] == max(index) or index[y] > max(index) - 1e-9
            history.append((y, b))


def champion_law(d):
    """Four epochs, a self-duel of even chance, and a champion that stays by a tie."""
    got = expected_plays(d.Champion(d.UCB, alpha=-1, ties="first"), TWO, 8, d.Game)
    assert (got == exact.champion(TWO, 8, -1, "first")[-1]).all()


def two_sided_law(d):
    got = expected_plays(d.TwoSidedChampion(d.UCB, alpha=-1, ties="first"), TILTED, 9, d.Game)
    assert (got == enumerate_plays(two_sided, TILTED, 9, -1, "first")[-1]).all()


def sparring_law(d):
    has_exact_law(d, "sparring", TWO, 6, 1)


def ucb_index(d):
    """Every decision has the largest index of the formula, read off the whole history."""
    rng = np.random.default_rng(1)
    for alpha in (1, 3):
        S, history = d.UCB(3, rng, alpha=alpha), []
        for _ in range(150):
            index = [slow_index(history, x, alpha) for x in range(3)]
            x = S.advance()
            assert index[x] == max(index) or index[x] > max(index) - 1e-9
            history.append((x, int(rng.random() < (0.8, 0.5, 0.2)[x])))
            S.feedback(history[-1][1])


def better_arm_wins(d):
    """Every table prefers the better arm, on both sides, and b = 1 is the right arm."""
    for name in d.section7.NAMES:
        P = d.scenario(name).P
        assert (P[1:, 0] > 0.5).all() and (P[0, 1:] < 0.5).all()
    game = d.Game(np.array([[0.5, 1.0], [0.0, 0.5]]), 2, np.array([2]), np.random.default_rng(0))
    assert (game.play(0, 1), game.play(1, 0)) == (1, 0)


def if_duels(d):
    for seed in range(60):
        check_if(d.IF, table(6, seed), 150, seed, 1 + seed % 2, 0.9, 0.3)


def btmb_duels(d):
    for seed in range(30):
        check_btmb(d.BTMB, table(5, seed), 120, seed, 0.2, 1.0, 0.3, bool(seed % 2))


def condorcet_winner_survives(d):
    """A clear winner ends the tournaments as their leader: the mean regret alone may hide it."""
    P = np.array([[0.5, 0.98, 0.5], [0.02, 0.5, 0.02], [0.5, 0.98, 0.5]])  # arm 1 beats both
    for algorithm in (d.IF(1, 1.0), d.IF(2, 1.0), d.BTMB(0.5, self_duels=False)):
        for seed in range(8):
            game = Logged(P, 1200, np.random.default_rng(seed))
            algorithm.play(game, compile=False)
            assert {(x, y) for x, y, _ in game.duels[-50:]} == {(1, 1)}


def tables_in_own_arms(d):
    """Counts of permuted runs are told in the scenario's arms."""
    scenario = d.Utilities([0.0, 1.0, 0.5])
    for seed in range(5):
        game = scenario.game(200, np.array([200]), np.random.default_rng(seed))
        d.Uniform().play(game, compile=False)
        plays = scenario.measure(game)["plays"]
        assert plays[0, 0, 1] == plays[1, 1, 0] == 0 < plays[1, 0, 1]


CHECKS = [
    *(doubler_law, doubler_epochs, multisbm_law, multisbm_decisions, sparring_law, ucb_index),
    *(champion_law, two_sided_law),
    *(better_arm_wins, if_duels, btmb_duels, condorcet_winner_survives, tables_in_own_arms),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_package_passes(check):
    check(dueling)


# The mutants

FED = "                S.feedback(b)\n                L.note(y)\n"
CLOCKS = (
    "        S[x].feedback(b)\n        for z in range(game.K):\n            S[z].t = game.t + 1\n"
)
OUTCOME = "b = int(self.rng.random() < self.P[x, y])"
ELIMINATED = "w[b] -= wins[b, worst]\n                m[b] -= n[b, worst]"

MUTANTS = {
    # Doubler
    "the multiset turned into a set": (
        *("reductions.py", "self.next[y] += 1\n        self.noted += 1"),
        *("self.noted += 1 - self.next[y]\n        self.next[y] = 1", doubler_law),
    ),
    "the machine is not reset": (
        *("reductions.py:doubler", "        S.reset()\n        for _ in range(2**i)"),
        *("        for _ in range(2**i)", doubler_law),
    ),
    "the machine is fed the left arm too": (
        *("reductions.py", FED),
        *(FED + "                S.x = x\n                S.feedback(1 - b)\n", doubler_law),
    ),
    "the machine is fed for the left arm": (
        *("reductions.py", FED),
        *("                S.x = x\n                S.feedback(1 - b)\n" + FED[30:], doubler_law),
    ),
    "the list holds the left arms": ("reductions.py", "L.note(y)", "L.note(x)", doubler_law),
    "the list is never renewed": ("reductions.py", "        L.renew()\n", "", doubler_law),
    "the list is not emptied": (
        *("reductions.py", "self.counts[x], self.next[x] = self.next[x], 0"),
        *("self.counts[x] = self.next[x]", doubler_law),
    ),
    "epochs one round short": (
        "reductions.py:doubler",
        "range(2**i)",
        "range(2**i - 1)",
        doubler_law,
    ),
    "epochs start with one round": ("reductions.py", "    i = 1\n", "    i = 0\n", doubler_law),
    "epochs grow linearly": (
        "reductions.py:doubler",
        "range(2**i)",
        "range(2 * i)",
        doubler_epochs,
    ),
    # MultiSBM
    "the global clock in every index": (
        *("reductions.py:multisbm", "        S[x].feedback(b)\n", CLOCKS, multisbm_decisions),
    ),
    "the machine of the right arm is fed": (
        *("reductions.py:multisbm", "S[x].feedback(b)", "S[y].x = y\n        S[y].feedback(b)"),
        multisbm_law,
    ),
    "the left arm stays": ("reductions.py", "        x = y\n", "        x = 0\n", multisbm_law),
    "the left arm's victory is fed": (
        *("reductions.py:multisbm", "S[x].feedback(b)", "S[x].feedback(1 - b)", multisbm_law),
    ),
    # Champion
    "the machines are reset in every epoch": (
        *("reductions.py:champion", "        plays[:] = 0\n"),
        *("        plays[:] = 0\n        S[x].reset()\n", champion_law),
    ),
    "epochs of constant length": (
        *("reductions.py:champion", "range(2**i)", "range(1)", champion_law),
    ),
    "Champion's epochs start with two rounds": (
        *("reductions.py:champion", "x, i = 0, 0", "x, i = 0, 1", champion_law),
    ),
    "the least played arm stands": (
        *("reductions.py:champion", "np.argmax(plays)", "np.argmin(plays)", champion_law),
    ),
    "a tie keeps the champion": (
        *("reductions.py:champion", "plays[x] <= c.r", "plays[x] < c.r", champion_law),
    ),
    "the last right arm stands": (
        *("reductions.py:champion", "z = int(np.argmax(plays))", "z = y", champion_law),
    ),
    "plays are counted over all epochs": (
        *("reductions.py:champion", "        plays[:] = 0\n", "", champion_law),
    ),
    "the champion never changes": (
        *("reductions.py:champion", "            x = z\n", "            x = x\n", champion_law),
    ),
    "the champion's victory is fed": (
        *("reductions.py:champion", "S[x].feedback(b)", "S[x].feedback(1 - b)", champion_law),
    ),
    "the left side is fed the right side's victory": (
        *("later/sides.py:two_sided_champion", "S_L[y].feedback(1 - b)", "S_L[y].feedback(b)"),
        two_sided_law,
    ),
    "both turns share their counts": (
        *("later/sides.py:two_sided_champion", "        plays[:] = 0\n", "", two_sided_law),
    ),
    # Sparring
    "b is fed on both sides": (
        *("reductions.py", "S_L.feedback(1 - b)", "S_L.feedback(b)", sparring_law),
    ),
    "one machine on both sides": (
        *("reductions.py", "x, y = S_L.advance(), S_R.advance()"),
        *("x = y = S_L.advance()\n        S_R.x = y", sparring_law),
    ),
    # the game
    "the outcome is ignored": (
        *("game.py", OUTCOME, "b = int(self.rng.random() < 0.5)", sparring_law),
    ),
    "the outcome favours the left arm": (
        *("game.py", OUTCOME, "b = int(self.rng.random() < self.P[y, x])", better_arm_wins),
    ),
    "the linear link is flipped": (
        *("links.py", "(1 + np.subtract(a, b)) / 2", "(1 + np.subtract(b, a)) / 2"),
        better_arm_wins,
    ),
    "the table is flipped": (
        *("scenarios.py", "self.link(v, u))\n", "self.link(u, v))\n", better_arm_wins),
    ),
    "YJ is flipped": ("section7.py", "0.5 - eps, name", "0.5 + eps, name", better_arm_wins),
    "plays stay in the run's arms": (
        *("scenarios.py", "unordered[:, order[:, None], order] = plays"),
        *("unordered[:] = plays", tables_in_own_arms),
    ),
    # UCB
    "no factor 2": (
        *("machines.py", "(self.alpha + 2) * self.ln(self.t) / 2)"),
        *("self.alpha * self.ln(self.t) + 0)", ucb_index),
    ),
    "no division by 2": (
        *("machines.py", "(self.alpha + 2) * self.ln(self.t) / 2)"),
        *("(self.alpha + 2) * self.ln(self.t))", ucb_index),
    ),
    "no clock": (
        *("machines.py", "self.narrow[x] = 1 / sqrt(n)\n        self.t += 1"),
        *("self.narrow[x] = 1 / sqrt(n)", ucb_index),
    ),
    "the clock is one ahead": (
        *("machines.py", "self.ln(self.t) / 2", "self.ln(self.t + 1) / 2", sparring_law),
    ),
    "the table of logarithms begins at 2": (
        *("machines.py", "map(log, range(1,", "map(log, range(2,", sparring_law),
    ),
    "radius 1/n": ("machines.py", "= 1 / sqrt(n)", "= 1 / n", ucb_index),
    "unpulled arms are not first": ("machines.py", "mean[:] = inf", "mean[:] = 0.5", ucb_index),
    # the baselines
    "comparisons removed from the wrong axis": (
        *("baselines.py", ELIMINATED, ELIMINATED.replace("[b, worst]", "[worst, b]"), btmb_duels),
    ),
    "comparisons with the loser are kept": (
        *("baselines.py", ELIMINATED, "m[b] -= 0", btmb_duels),
    ),
    "the best arm is eliminated": (
        *("baselines.py", "W[worst] = False", "W[best] = False", condorcet_winner_survives),
    ),
    "the opponent's victory is counted": (
        *("baselines.py", "won = 1 - game.play(b, o)", "won = game.play(b, o)"),
        condorcet_winner_survives,
    ),
    "the candidate is never replaced": (
        *("baselines.py", "            candidate = winner\n", "", condorcet_winner_survives),
    ),
    "a wrong arm takes over": (
        *("baselines.py", "candidate = winner", "candidate = int(W.argmax())", if_duels),
    ),
    "the last of equal rivals takes over": (
        *("baselines.py", "wins[b] / n > best:", "wins[b] / n >= best:", if_duels),
    ),
    "estimates survive the candidate": (
        *("baselines.py", "            wins[:] = 0\n            n = 0\n", "", if_duels),
    ),
    "IF2 does not prune": ("baselines.py", "if c.prune and", "if False and", if_duels),
    "the radius without its scale": (
        *("baselines.py", "sqrt(c.scale * L / n)", "sqrt(L / n)", if_duels),
    ),
}


@pytest.mark.parametrize("defect", MUTANTS)
def test_a_planted_defect_is_caught(defect, tmp_path, monkeypatch):
    file, old, new, check = MUTANTS[defect]
    package = mutant(tmp_path, monkeypatch, file, old, new)
    with pytest.raises((AssertionError, IndexError, ZeroDivisionError)):
        check(package)


def test_an_unchanged_copy_is_not_caught(tmp_path, monkeypatch):
    """The copying itself breaks nothing."""
    package = mutant(
        tmp_path, monkeypatch, "reductions.py", "import numpy as np", "import numpy as np "
    )
    for check in (doubler_law, ucb_index, better_arm_wins, btmb_duels):
        check(package)
