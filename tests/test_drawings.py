"""The drawings: well formed, with alternative texts, inside their frames; data is computed."""

import doctest
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from bs4 import BeautifulSoup

from dueling import scenario
from edition import drawings, svg
from edition.drawings import DRAWINGS
from edition.sphinx.drawings import DrawingDirective
from edition.svg import WIDTH

ROOT = Path(__file__).parents[1]
ANCHORS = {"start": 0, "middle": 0.5, "end": 1}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_whole_and_says_what_it_shows(name):
    drawing = DRAWINGS[name]()
    root = ET.fromstring(drawing.svg())
    assert root.get("role") == "img" and len(root.get("aria-label")) > 80
    assert drawing.svg() == DRAWINGS[name]().svg()
    for shape in root.iter(f"{SVG}polyline"):
        for x, y in re.findall(r"([-\d.]+),([-\d.]+)", shape.get("points")):
            assert 0 <= float(x) <= WIDTH and 0 <= float(y) <= drawing.height
    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.get("y")) <= drawing.height


def test_a_drawing_that_there_is_not_is_refused_by_its_name():
    asked = SimpleNamespace(arguments=["spar"], error=ValueError)
    with pytest.raises(ValueError, match=r"^drawing is 'spar'; it must be one of .*, sparring"):
        DrawingDirective.run(asked)


def words(root):
    """The words on the ground of a drawing, and their boxes: a letter is 0.6 of its size wide."""
    for text in root.iter(f"{SVG}text"):
        if text.get("fill") == svg.ON:
            continue  # on a disc, which covers the lines
        said, size = "".join(text.itertext()).replace("\u200b", ""), float(text.get("font-size"))
        width = 0.6 * size * len(said)
        left = float(text.get("x")) - width * ANCHORS[text.get("text-anchor")]
        foot = float(text.get("y"))
        yield said, (left, foot - 0.7 * size, left + width, foot)


def points(shape, steps=200):
    """Points close together on a line of a drawing."""
    ends = [tuple(map(float, pair.split(","))) for pair in shape.get("points").split()]
    ends += ends[:1] * shape.tag.endswith("polygon")
    for one, two in pairwise(ends):
        yield from zip(*(np.linspace(a, b, steps) for a, b in zip(one, two)))


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_line_of_a_drawing_crosses_words_and_all_words_are_inside(name):
    root = ET.fromstring(DRAWINGS[name]().svg())
    for said, (left, top, right, foot) in words(root):
        assert left >= 0 and right <= WIDTH and top >= 0, said
        for line in [*root.iter(f"{SVG}polyline"), *root.iter(f"{SVG}polygon")]:
            crossed = [p for p in points(line) if left < p[0] < right and top < p[1] < foot]
            assert not crossed, (said, crossed[0])


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_disc_of_a_drawing_has_its_word_in_the_middle(name):
    root = ET.fromstring(DRAWINGS[name]().svg())
    shapes = ((e.get("cx"), e.get("cy"), e.get("r")) for e in root.iter(f"{SVG}circle"))
    discs = [(x, y, r) for x, y, r in (map(float, shape) for shape in shapes) if r >= 10]
    told = [text for text in root.iter(f"{SVG}text") if text.get("fill") == svg.ON]
    places = [(float(text.get("x")), float(text.get("y"))) for text in told]
    assert len(discs) == len(places) and all("".join(text.itertext()).strip() for text in told)
    for x, y, r in discs:
        assert [px for px, py in places if px == x and r / 4 <= py - y <= r / 2] == [x]


def numbers(shape):
    return [float(n) for n in re.findall(r"[-\d.]+", shape.get("points"))]


def test_shapes_have_their_usual_sizes_and_an_arrow_its_head():
    d = svg.Drawing(90, "Shapes.")
    d.words(1, 2, "a")
    d.box(1, 2, 3, 4)
    d.dot(1, 2)
    d.arrow((10, 5), (60, 5))
    words, box, dot, line, head = ET.fromstring(d.svg())
    assert (words.get("font-size"), words.get("text-anchor")) == ("15", "middle")
    assert (box.get("rx"), box.get("stroke-width"), box.get("fill")) == ("6", "1.5", "none")
    assert dot.get("r") == "5" and line.get("stroke-width") == "1.5"
    assert numbers(line)[:2] == [10, 5]
    x, y, back, above, other, below = numbers(head)
    assert (x, y) == (60, 5) and back == other < 55 and {above > 5, below > 5} == {True, False}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_has_no_colour_that_vanishes_in_the_dark(name):
    svg = re.sub(r"var\([^)]*\)", "", DRAWINGS[name]().svg())
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', svg)) - {"", "none", "currentColor"}
    assert colours == set()


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_file_of_a_drawing_needs_no_page(name):
    """Its size, a white ground under all else, and no colour that a stylesheet has to say."""
    drawing = DRAWINGS[name]()
    text = drawing.file()
    assert text == DRAWINGS[name]().file() and text.endswith("\n")
    root = ET.fromstring(text)
    size = (str(WIDTH), str(drawing.height))
    assert (root.get("width"), root.get("height")) == size and root.get("aria-label")
    ground, *shapes = root
    assert ground.attrib == {"width": size[0], "height": size[1], "fill": "#ffffff"}
    colours = {e.get(key) for e in root.iter() for key in ("fill", "stroke")} - {None, "none"}
    assert all(re.fullmatch("#[0-9a-fA-F]{3,6}", colour) for colour in colours), colours
    assert "var(" not in text and "currentColor" not in text
    inline = list(ET.fromstring(drawing.svg()))
    assert [(e.tag, "".join(e.itertext())) for e in shapes] == [
        (e.tag, "".join(e.itertext())) for e in inline
    ]


def test_the_colours_of_a_file_are_those_of_the_light_page():
    assert doctest.testmod(svg, optionflags=doctest.ELLIPSIS) == (0, 3)
    text = drawings.game().file()
    assert 'stroke="#0072B2"' in text and 'fill="#222222"' in text


@pytest.mark.built
def test_each_drawing_of_the_book_links_its_file():
    """The link below the caption; the file is there, as the code draws it."""
    linked = set()
    pages = sorted((ROOT / "_build" / "html" / "book").rglob("*.html"))
    if not pages:
        pytest.skip("the book is not built: make book")
    for page in pages:
        boxes = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").select(".drawing")
        for box in boxes:
            (link,) = box.select("p.figure-files a")
            assert link.text == "vector (SVG)"
            file = (page.parent / link["href"]).resolve()
            name = file.stem.removeprefix("drawing-")
            assert file.read_text(encoding="utf-8") == DRAWINGS[name]().file()
            linked.add(name)
    assert linked == set(DRAWINGS)


def test_every_arm_lies_in_the_spanners_parallelogram():
    arms = drawings.cloud()
    spanner = arms[list(drawings.spanner_of(arms))]
    inside = np.abs(np.linalg.solve(spanner.T, arms.T)) <= 1 + 1e-12
    assert inside.all() and not (np.abs(arms / arms[0]) <= 1).all()
    root = ET.fromstring(drawings.spanner().svg())
    heads = [head for head in root.iter(f"{SVG}polygon") if not head.get("stroke")]
    origins = [numbers(line)[:2] for line in root.iter(f"{SVG}polyline")]
    arrows = np.array([numbers(head)[:2] for head in heads]) - origins
    assert np.allclose(arrows, spanner, atol=0.1)


def test_the_bars_of_the_run_hold_the_truth_and_the_tops_are_level():
    S = drawings.ucb_run()
    assert S.pulls.sum() == 200 and S.pulls.argmax() == 0
    radius = np.sqrt(3 * np.log(200) / (2 * S.pulls))
    assert (np.abs(S.mean - [0.8, 0.65, 0.5, 0.3]) < radius).all()
    assert np.ptp(S.mean + radius) < 0.1


def test_best_responses_of_yj_lead_to_the_winner_and_those_of_the_circle_do_not():
    def ends(table):
        to = drawings.responses(table.P)
        at = list(range(len(to)))
        for _ in to:
            at = [to[x] for x in at]
        return set(at)

    assert ends(scenario("YJ")) == {scenario("YJ").best}
    circle = drawings.circle_table()
    assert circle.best == 0 and ends(circle) == {0, 1, 2, 3}


def test_the_leads_of_the_run_end_with_the_good_arm():
    path = drawings.leads()
    assert (path[-1] > 0).all() and (path[np.isfinite(path).all(axis=1)].max(axis=1) < 0).any()


def test_the_picture_of_the_readme_is_the_drawing_of_a_duel():
    """Outside the book no stylesheet gives it colours: the file has its own, and a white ground."""
    picture = (ROOT / "book" / "_static" / "duel.svg").read_text(encoding="utf-8")
    own = drawings.game().svg().replace("<svg ", '<svg style="background:#fff;color:#222" ', 1)
    assert picture == own + "\n"
