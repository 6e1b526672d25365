"""Witnesses with teeth: a term dropped, halved or doubled is refused; as it stands, it holds."""

import pytest

from edition import backmatter, teeth
from edition.witness import OPEN, Refused

TEETH = backmatter.data("teeth")


@pytest.mark.parametrize("tooth", TEETH, ids=lambda tooth: f"{tooth['page']}: {tooth['change']}")
def test_a_changed_term_is_refused(tooth):
    row, refusal = teeth.bite(tooth)
    assert row["kind"] != OPEN and refusal.startswith(f"{row['step']}: ")
    assert "does not hold" in refusal


def test_a_change_that_makes_no_difference_is_seen():
    tooth = {"page": "ucb", "cells": ["w-h1"], "change": "nothing", "old": "psi =", "new": "psi  ="}
    with pytest.raises(Refused, match="Hoeffding, step 1: it holds as well with nothing"):
        teeth.bite(tooth)


def test_a_text_that_is_not_there_once_is_refused():
    for old in ("law", "no such text"):
        with pytest.raises(ValueError, match=f"ucb: '{old}' occurs"):
            teeth.run("ucb", ["w-h1"], old, "x")
