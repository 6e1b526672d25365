"""A reader's own data and algorithm: tables of wins, logs of votes, plain functions."""

import pickle
from functools import partial

import numpy as np
import pytest
from conftest import Ten, plain, same

from dueling import UCB, Algorithm, MultiSBM, Preferences, Result, Sparring, Thompson, simulate
from dueling.engine.votes import tally
from dueling.reductions import sparring
from edition import store

# Wins


def test_wins_are_in_the_usual_orientation():
    """Arm 0 wins 8 of 10: it is the best, where the constructor would take it for the worst."""
    counts = Preferences.wins([[0, 8, 9], [2, 0, 6], [1, 4, 0]])
    chances = Preferences.wins([[0.5, 0.8, 0.9], [0.2, 0.5, 0.6], [0.1, 0.4, 0.5]])
    assert counts.best == chances.best == 0
    assert np.allclose(counts.P, chances.P) and counts.P[1, 0] == 0.8
    assert Preferences(chances.P.T).best == 2


def test_the_diagonal_of_wins_does_not_count():
    one, other = (Preferences.wins([[d, 8], [2, d]]) for d in (0, 7))
    assert np.array_equal(one.P, other.P) and (np.diag(one.P) == 0.5).all()


def test_the_array_that_was_given_stays_as_it_was():
    W = np.array([[7.0, 8.0], [2.0, 7.0]])
    Preferences.wins(W)
    assert W.tolist() == [[7, 8], [2, 7]]


def test_a_pair_that_was_never_played_is_a_draw_and_told():
    with pytest.warns(
        UserWarning, match="^1 of 3 pairs were never played; each counts as 1/2"
    ) as w:
        game = Preferences.wins([[0, 8, 9], [2, 0, 0], [1, 0, 0]])
    assert game.P[1, 2] == game.P[2, 1] == 0.5 and w[0].filename == __file__


@pytest.mark.parametrize(
    "W, words",
    [
        ([[0, 3, 1], [1, 0, 1]], r"W has shape \(2, 3\); it must be square"),
        ([[0, -3], [1, 0]], r"W\[0, 1\] is -3; it must be >= 0"),
        (
            [[0.5, 0.3], [0.6, 0.5]],
            r"\(W \+ W\^T\)\[0, 1\] is 0.9; it must be 1, as",
        ),
        ([[0, np.nan], [1, 0]], r"W\[0, 1\] is nan; it must be a finite number"),
        ([[3]], r"W has 1 arm\(s\); a duel needs K >= 2"),
    ],
)
def test_tables_that_are_no_wins(W, words):
    with pytest.raises(ValueError, match=words):
        Preferences.wins(W)


def test_names_are_told():
    game = Preferences.wins([[0, 8], [2, 0]], ["tea", "milk"], name="drinks")
    assert repr(game) == "Preferences(drinks: 2 arms, best tea)" and game.names == ("tea", "milk")
    assert plain(game, "IF", T=5).about["game"]["names"] == ["tea", "milk"]
    assert "names" not in plain("YJ", "IF", T=5).about["game"]
    cycle = Preferences([[0.5, 0.4, 0.6], [0.6, 0.5, 0.4], [0.4, 0.6, 0.5]], name="cycle")
    assert repr(cycle) == "Preferences(cycle: 3 arms, no Condorcet winner)"
    for names in (["tea"], ["tea", "tea"], ["tea", "milk", "milk"]):
        with pytest.raises(ValueError, match=r"names is \[.*; it must be 2 different names"):
            Preferences.wins([[0, 8], [2, 0]], names)


# Votes


def test_a_log_of_votes_by_hand():
    log = [("tea", "milk"), ("milk", "tea", "milk"), ("tea", "cola", None), ("cola", "milk", "tie")]
    game = Preferences.from_votes(log, counts=[3, 1, 2, 1])
    assert game.names == ("tea", "milk", "cola")
    assert game.P.tolist() == [[0.5, 0.25, 0.5], [0.75, 0.5, 0.5], [0.5, 0.5, 0.5]]
    assert repr(game).endswith("best tea)")


def test_counts_are_repeated_rows():
    log = [("a", "b"), ("b", "a"), ("a", "b", None)]
    counted = Preferences.from_votes(log, counts=[3, 1, 2])
    repeated = Preferences.from_votes([log[0]] * 3 + [log[1]] + [log[2]] * 2)
    assert np.array_equal(counted.P, repeated.P) and counted.name == repeated.name
    wins, names = tally(log)  # each row once
    assert wins.tolist() == [[0, 1.5], [1.5, 0]] and names == ["a", "b"]


def test_numbers_may_be_names_of_two():
    assert Preferences.from_votes([(7, 3), (3, 7), (7, 3)]).names == ("7", "3")


@pytest.mark.parametrize(
    "row, words",
    [
        (
            ("a", "b", 1),
            "row 1 of the log has the outcome 1; it must be the winner's name, or None",
        ),
        ((0, 1, 1), "row 1 of the log has the outcome 1; it must be the winner's name"),
        (("a", "b", "c"), "row 1 of the log has the outcome 'c'; it must be the winner's name"),
        (("a", "a"), r"row 1 of the log is \('a', 'a'\); .* two different names"),
        (("a",), r"row 1 of the log is \('a',\); it must be \(winner, loser\) or"),
        ("ab", r"row 1 of the log is 'ab'; it must be \(winner, loser\) or \(a, b, outcome\)"),
        (5, r"row 1 of the log is 5; it must be"),
        (("a", np.nan), r"row 1 of the log is \('a', nan\); .* two different names"),
        ((None, "a"), "row 1 of the log is .* two different names"),
        (("a", "tie", "tie"), "row 1 of the log is .* two different names; 'tie' is none"),
    ],
)
def test_rows_that_are_no_votes(row, words):
    with pytest.raises(ValueError, match=words):
        Preferences.from_votes([("a", "b"), row])


@pytest.mark.parametrize("log", [None, 5])
def test_a_log_without_rows_is_refused(log):
    with pytest.raises(ValueError, match=f"row 0 of the log is {log}; it must be"):
        Preferences.from_votes(log)


@pytest.mark.parametrize("names", ["ab", 5, ["a", "a"], ["a"]])
def test_names_that_are_not_one_for_each_arm(names):
    with pytest.raises(ValueError, match=r"names is .*; it must be 2 different names"):
        Preferences.wins([[0, 8], [2, 0]], names)


def test_counts_that_are_none():
    with pytest.raises(ValueError, match="counts has 2 entries; the log has 1 rows"):
        Preferences.from_votes([("a", "b")], counts=[1, 2])
    with pytest.raises(ValueError, match="counts is -1; it must be a whole number >= 0"):
        Preferences.from_votes([("a", "b")], counts=[-1])


# Algorithms


def leader(game):
    """Duel the arm of most wins with a random one."""
    wins = np.zeros(game.K)
    while game.on():
        x, y = np.argmax(wins), int(game.rng.random() * game.K)
        if game.play(x, y):
            wins[y] += 1
        else:
            wins[x] += 1


def pair(S, R, game):
    while game.on():
        x, y = S.advance(), R.advance()
        b = game.play(x, y)
        S.feedback(1 - b)
        R.feedback(b)


def test_a_plain_function_is_an_algorithm():
    slow = plain("arith/linear", leader, T=300, runs=4)
    assert same(simulate("arith/linear", leader, 300, 4), slow)
    assert slow.about["algorithm"] == "leader" and (slow.plays.sum(axis=(1, 2, 3)) == 300).all()


class Callable:
    def __call__(self, game):
        leader(game)

    def method(self, game):
        leader(game)


@pytest.mark.parametrize(
    "text", [partial(leader), Callable(), Callable().method, print, Callable, "leader", None]
)
def test_what_is_no_plain_function_is_no_text(text):
    """It cannot be compiled, and what it reads cannot be seen."""
    with pytest.raises(ValueError, match=r"^text is .*; it must be a plain function, text\("):
        Algorithm.of(text)


def test_a_text_over_machines_is_an_algorithm():
    """The text of Sparring without its resets plays as Sparring does."""
    own = Algorithm.of(pair, UCB, Thompson)
    assert own.name == "pair(UCB, Thompson)"
    assert own.settings() == {"machines": [{"alpha": 3.0, "ties": "random"}, {}]}
    want = plain("YJ", Sparring(UCB, right=Thompson), T=200)
    assert same(plain("YJ", own, T=200), want) and same(simulate("YJ", own, 200, 3), want)
    assert Algorithm.of(pair, Ten, Ten, name="mine").name == "mine"


def test_a_plain_function_can_be_sent_to_other_processes():
    sent = pickle.loads(pickle.dumps(Algorithm.of(leader)))
    assert same(plain("YJ", sent), plain("YJ", leader))


def test_a_plain_function_is_refused_where_it_breaks_the_rules():
    def lazy(game):
        game.play(0, 1)

    with pytest.raises(ValueError, match="lazy played 1 of 40 rounds; it must play them all"):
        simulate("YJ", lazy)


@pytest.mark.parametrize("own", [leader, Algorithm.of(leader), Algorithm.of(sparring, UCB, Ten)])
def test_an_algorithm_of_the_readers_own_is_not_stored(own):
    """Two texts of one name would share a file."""
    with pytest.raises(ValueError, match="to be stored it must be one of the package, and so"):
        store.stored("here", "YJ", own, T=30, runs=3)


def test_results_of_an_own_algorithm_come_back(tmp_path):
    result = plain("YJ", Algorithm.of(pair, UCB, UCB), T=20)
    assert same(Result.load(result.save(tmp_path / "r")), result)
    assert repr(MultiSBM(Ten)) == "MultiSBM(Ten)"
