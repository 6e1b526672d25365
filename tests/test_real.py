"""The tables of real duels: counts as their sources have them, read with care."""

import numpy as np
import pytest

from dueling.theory import preferences
from edition import real

#: What the sources say of each table: arms, duels, the Condorcet winner of the counts.
FACTS = {
    "first-names": (6, 2880, "Lucas"),
    "german-parties-2009": (6, 2880, "Gruene"),
    "topmodel-2007": (6, 2880, "Barbara"),
    "cems-choice": (6, 4454, "London"),
    "dublin-north-2002": (12, 1790546, "Trevor Sargent G.P."),
    "minneapolis-mayor-2013": (35, 6821764, "BETSY HODGES"),
    "chatbot-arena-2024": (18, 432152, "gpt-4o-2024-05-13"),
    "sound-quality": (8, 21924, None),
}


def test_every_table_has_a_source_and_its_facts():
    assert list(real.sources()) == list(FACTS)
    for name, (arms, duels, winner) in FACTS.items():
        card = real.card(real.counts(name))
        assert (card["arms"], card["duels"], card["winner"]) == (arms, duels, winner), name
        assert {"what", "package", "licence", "cite"} <= real.sources()[name].keys()


def test_the_card_is_that_of_the_votes():
    card = real.card(real.counts("topmodel-2007"))
    assert card["gap"] == pytest.approx(98 / 192 - 0.5)  # Barbara against Hana
    assert card["error"] == pytest.approx(np.sqrt(98 * 94 / 192**3))
    assert real.card(real.counts("cems-choice"))["ties"] == pytest.approx(487 / 4454)
    assert real.counts("cems-choice").W[0, 1] == 186 + 26 / 2
    P = real.counts("sound-quality").game().P
    assert preferences.condorcet(P) is None


def test_votes_drawn_again_keep_their_numbers_and_means():
    table, rng = real.counts("cems-choice"), np.random.default_rng(0)
    again = [table.drawn_again(rng) for _ in range(400)]
    for one in again[:9]:
        assert np.array_equal(
            one.wins + one.wins.T + one.ties, table.wins + table.wins.T + table.ties
        )
        assert np.array_equal(one.ties, one.ties.T) and not np.array_equal(one.wins, table.wins)
    mean = np.mean([one.wins for one in again], axis=0)
    assert abs(mean - table.wins).max() < 6 * np.sqrt(table.wins.max() / 400)
    assert np.std([one.wins[0, 1] for one in again]) == pytest.approx(
        np.sqrt(186 * (1 - 186 / 303)), rel=0.2
    )


HEAD = real.HEAD


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([["x", "y"]], "the head"),
        ([HEAD, ["a", "b", "1", "2", "-1"]], "row 2"),
        ([HEAD, ["a", "a", "1", "2", "0"]], "row 2"),
        ([HEAD, ["a", "b", "0", "0", "0"]], "row 2"),
        ([HEAD, ["a", "b", "1", "2", "0"], ["b", "a", "1", "2", "0"]], "row 3"),
        ([HEAD, ["a", "b", "1", "2", "0"], ["b", "c", "1", "2", "0"]], "2 rows"),
    ],
)
def test_a_table_with_a_slip_is_refused(rows, word):
    with pytest.raises(ValueError, match=word):
        real.tallied("t", rows)


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ValueError, match="did you mean 'first-names'"):
        real.counts("first-name")
