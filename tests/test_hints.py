"""Slips that are answered with what to write instead, before any work starts."""

import pickle

import numpy as np
import pandas as pd
import pytest

import dueling
from dueling import UCB, Algorithm, Exp3, Preferences, Sparring, Thompson, compare, simulate
from dueling.engine import compiled

W = [[0, 3], [1, 0]]


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    """Any game that is played for a result fails the test."""

    def started(*_):
        raise AssertionError("work started")

    monkeypatch.setattr(compiled, "run", started)


def needs_a_machine(S, game):
    while game.on():
        game.play(0, S.advance())


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: simulate(W, "IF"),
            r"scenario is an array; it must be Preferences.wins\(W\) where",
        ),
        (lambda: simulate(np.array(W), "IF"), r"is an array; .* or Utilities\(mu\)"),
        (lambda: simulate(pd.DataFrame(W), "IF"), "scenario is an array"),
        (
            lambda: simulate("YJ", "Thompson"),
            r"the machine Thompson; .*such as Sparring\(Thompson\)",
        ),
        (lambda: simulate("YJ", "thompson"), r"the machine Thompson; .*Sparring\(Thompson\)"),
        (lambda: simulate("YJ", "ucb"), r"algorithm is the machine UCB; .*such as Sparring\(UCB\)"),
        (lambda: simulate("YJ", "sparring"), "algorithm is 'sparring'; did you mean 'Sparring'"),
        (lambda: Sparring("UCB"), "^machine is 'UCB'; it must be a class such as UCB, without quo"),
        (lambda: Sparring(UCB, right="UCB"), "^machine is 'UCB'; it must be a class such as UCB"),
        (lambda: compare("YJ", []), r"^algorithms is \[\]; it must be not empty"),
        (lambda: compare((), "IF"), r"^games is \(\); it must be not empty"),
        (lambda: simulate("YJ", "KLUCB"), r"the machine KLUCB; .*such as Sparring\(KLUCB\)"),
        (lambda: simulate("YJ", "MOSS"), r"the machine MOSS; .*such as Sparring\(MOSS\)"),
        (lambda: simulate("YJ", UCB), r"algorithm is the machine UCB; .*such as Sparring\(UCB\)"),
        (lambda: simulate("YJ", UCB(2, None)), r"the machine UCB; .*such as Sparring\(UCB\)"),
        (lambda: Preferences(W), r"P has zeros on its diagonal; .*Preferences.wins\(W\) takes"),
        (lambda: Preferences([[0, 0.3], [0.7, 0]]), "P has zeros on its diagonal"),
        (
            lambda: simulate("YJ", needs_a_machine),
            r"cannot be called as needs_a_machine\(game\); Algorithm.of\(needs_a_machine, UCB\)",
        ),
        (
            lambda: Algorithm.of(needs_a_machine, UCB, UCB),
            r"called as needs_a_machine\(UCB, UCB, g",
        ),
        (
            lambda: Algorithm.of(needs_a_machine, Sparring(UCB)),
            "machine is a Sparring, made already",
        ),
    ],
)
def test_values(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: UCB(alpha=3), r"UCB lacks K and rng, .*; write Sparring\(UCB, alpha=3\)\.$"),
        (lambda: Sparring(Thompson()), r"Thompson lacks K and rng, .*; write Sparring\(Thompson\)"),
        (lambda: Exp3(2), "Exp3 lacks K and rng"),
        (lambda: UCB(K=3), r"UCB lacks K and rng, .*; write Sparring\(UCB\)\.$"),
        (lambda: UCB(3, alpha=1), r"UCB lacks K and rng, .*; write Sparring\(UCB, alpha=1\)\.$"),
        (lambda: simulate("YJ", "IF", horizon=9), r"simulate has no argument 'horizon'; .* T=\?"),
        (lambda: simulate("YJ", "IF", n_runs=9), r"no argument 'n_runs'; did you mean runs=\?"),
        (lambda: simulate("YJ", "IF", sed=9), r"no argument 'sed'; did you mean seed=\?"),
        (lambda: simulate("YJ", "IF", zzz=9), r"'zzz'; did you mean scenario= or algorithm= or T="),
    ],
)
def test_calls(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_synonyms_are_arguments_of_simulate():
    from inspect import signature

    from dueling.engine.hints import SYNONYMS

    assert set(SYNONYMS.values()) <= set(signature(dueling.simulate).parameters)


def test_a_machine_is_still_an_ordinary_object():
    machine = UCB(K=3, rng=np.random.default_rng(0), alpha=1)
    assert pickle.loads(pickle.dumps(machine)).alpha == 1.0
