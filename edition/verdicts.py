"""The verdict on each claim of the paper, derived from witnesses and stored results.

A claim is a mapping with ``id``, ``place`` and ``says``, and the evidence named at the head of
``book/experiments/claims.yml``. Evidence that is named but not there stops the page. A verdict is
*by rule*, a function of results that can come out in more than one way, or *by proof*, and then the
claim names the statements that prove or refute it.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from dueling.section7 import UTILITIES

from . import place, tables
from .witness import OPEN

REPRODUCED = "reproduced"
CHOICES = "reproduced under stated choices"
NOT = "not reproduced"
FALSE = "false as stated"
SIGNS = {REPRODUCED: "✓", CHOICES: "◐", NOT: "▽", FALSE: "✗", OPEN: "○"}
VERDICTS = tuple(SIGNS)
ROLES = ("proved", "under", "short", "refuted")  # of a witness

#: How far a false statement is from the truth, worst first.
GRADES = ("substance", "constant", "slip")

Results = Callable[[str], Mapping[str, np.ndarray]]  # the columns of a table of results
Found = tuple[str, str]  # a verdict, and the numbers behind it


# From the witnesses of the theory pages


def witnesses(claim: Mapping, role: str, ledgers: Mapping[str, list]) -> list[dict]:
    """The rows of the ledgers that the claim names in a role, each with its ``page``."""
    rows = []
    for page, steps in claim.get(role, {}).items():
        for step in [steps] if isinstance(steps, str) else steps:
            matching = [row for row in ledgers.get(page, []) if row["step"] == step]
            if not matching:
                raise LookupError(
                    f"claim {claim['id']} names the step {step!r}, which page {page} does not have."
                )
            rows.append({"page": page, **matching[0]})
    return rows


def from_witnesses(claim: Mapping, ledgers: Mapping[str, list]) -> str:
    """The verdict by what the witnesses show: refuted, less than claimed, proved, or nothing.

    An open witness, of a page with changed parameters, shows nothing, and improves no verdict: what
    it should have refuted stays open, and what it bounds stays bounded.
    """
    rows = {role: witnesses(claim, role, ledgers) for role in ROLES}
    shown = {role: any(row["kind"] != OPEN for row in named) for role, named in rows.items()}
    if shown["refuted"]:
        return FALSE
    if shown["short"]:
        return NOT
    if shown["proved"] and not (rows["refuted"] or rows["short"]):
        return CHOICES if rows["under"] else REPRODUCED
    return OPEN


# From stored results


def settled(everywhere: bool, somewhere: bool) -> str:
    """The verdict on a claim that holds under all choices examined, under some, or under none."""
    return REPRODUCED if everywhere else CHOICES if somewhere else NOT


def sentence(R: str, results: Results) -> Found:
    """R1, R2 or R3: at this edition's constants, and on the map of constants.

    R1 and R2 speak of all scenarios, R3 of "a wide variety": more than half of them. Some corner of
    the map is not enough: it holds at this edition's constants, or at half of the map's settings.
    """
    here, grid = results("figure-verdicts")[R] == "holds", results("choices-map")[R]
    need = len(here) // 2 + 1 if R == "R3" else len(here)
    there = int((grid >= need).sum())
    enough = "all" if need == len(here) else f"{need} or more"
    numbers = (
        f"holds in {here.sum()} of {len(here)} scenarios at this edition's constants; "
        f"on the map it holds in {enough} scenarios at {there} of {len(grid)} settings"
    )
    at_home = here.sum() >= need
    somewhere = at_home or 2 * there >= len(grid)
    return settled(bool(at_home and there == len(grid)), bool(somewhere)), numbers


def together(results: Results) -> Found:
    """R1, R2 contradicted in no scenario, R3 in more than half: on the map, on fresh seeds."""
    grid, n = results("choices-map"), len(results("figure-verdicts")["R1"])
    good = consistent(grid, n)
    fresh = results("choices-confirmed")
    again = consistent(fresh, n)
    numbers = f"no significant contradiction at {good.sum()} of the {len(good)} settings of the map"
    if good.any():
        numbers += f", and at {again.sum()} of them again with fresh seeds"
    counts = ", ".join(f"{R} in {fresh[R][0]:.0f}" for R in ("R1", "R2", "R3"))
    numbers += f"; at the best setting, with fresh seeds, {counts} of {n} scenarios"
    return settled(bool(good.all()), bool(again.any())), numbers


def consistent(grid: Mapping[str, np.ndarray], n: int) -> np.ndarray:
    """Where no scenario contradicts R1 or R2 significantly, and R3 holds in more than half."""
    return (grid["R1 fails"] == 0) & (grid["R2 fails"] == 0) & (grid["R3"] > n // 2)


def tournaments(results: Results) -> Found:
    """MultiSBM against IF: within a factor of two at every time, or of four at the last one."""
    curves = results("growth-curves")
    means = {a: {} for a in ("MultiSBM", "IF")}
    for scenario, a, mean in zip(*(curves[c] for c in ("scenario", "algorithm", "mean"))):
        if a in means:
            means[a].setdefault(scenario, []).append(mean)
    ratio = [np.divide(means["MultiSBM"][name], means["IF"][name]) for name in means["IF"]]
    last = np.array([curve[-1] for curve in ratio])
    numbers = (
        f"MultiSBM's regret is {last.min():.2f} to {last.max():.2f} times IF's at the last time"
    )
    return settled(_within(np.concatenate(ratio), 2), _within(last, 4)), numbers


def _within(ratio: np.ndarray, factor: float) -> bool:
    return bool(ratio.min() > 1 / factor and ratio.max() < factor)


def arms(results: Results) -> Found:
    """MultiSBM's local exponents in K - 1."""
    rows = results("growth-exponents")
    mine = (rows["algorithm"] == "MultiSBM") & (rows["exponent of"] == "K-1")
    value = rows["simulated"][mine]
    numbers = (
        f"local exponents {value.min():.2f} to {value.max():.2f} in K - 1; "
        "for the leading term alone the exponent 1 is proved"
    )
    return settled(bool(value.max() < 1.1), bool(value.max() < 2)), numbers


def dominated(results: Results) -> Found:
    """The part of MultiSBM's regret that the machine of x* pays; it grows with the horizon."""
    rows = results("growth-share")
    share, at = rows["share"], dict(zip(rows["scenario"], rows["share"], strict=True))
    early, late = at["1good/linear"], at["1good/linear long"]
    numbers = (
        f"that machine pays {100 * share.min():.0f} to {100 * share.max():.0f} % at the horizons "
        f"simulated, in 1good {100 * early:.0f} % and later {100 * late:.0f} %; "
        "it is proved to pay all of the leading term"
    )
    return settled(bool(share.min() > 0.8), bool(late > early)), numbers


def stuck(results: Results) -> Found:
    """Whether more than one run in five hundred of Sparring relapses, and none of MultiSBM."""
    tail, shape = results("tails-sparring"), results("tails-shape")
    above = float(tail["above"][tail["s"] == 500][0])
    mine = {a: float(x) for a, x in zip(shape["algorithm"], shape["largest"] / shape["median"])}
    numbers = (
        f"{100 * above:.1f} % of the runs of 1good are 500 above the median; the largest run is "
        f"{mine['Sparring']:.1f} medians, that of MultiSBM {mine['MultiSBM']:.1f}"
    )
    apart = mine["Sparring"] > 2 * mine["MultiSBM"]
    return settled(above > 0.002 and apart, above > 0 and apart), numbers


def progressions(results: Results) -> Found:
    """Differences of arith and ratios of geom, from B on, to the digits printed."""
    steps = np.diff(UTILITIES["arith"][1:])
    first, *rest = UTILITIES["geom"][1:]
    exact = first * (rest[-1] / first) ** (np.arange(1, 5) / 4)
    good = np.allclose(steps, steps[0]) and np.abs(exact - rest).max() < 5.1e-4
    return settled(
        bool(good), False
    ), f"step {-steps[0]:.3f}, ratio {(rest[-1] / first) ** 0.25:.3f}"


def sides(results: Results) -> Found:
    """Two valuations that disagree, and a bias in ties."""
    two, ties = results("beyond-two"), results("beyond-ties")
    other = two["valuations"] == "another best arm"
    rate = dict(zip(two["algorithm"][other], two["regret per round"][other], strict=True))
    hoped = rate["Sparring"] < 0.1 * min(rate["MultiSBM"], rate["Doubler"])
    worst = ties["regret per round"][ties["algorithm"] == "Sparring"].max()
    numbers = (
        f"where the sides disagree Sparring pays {rate['Sparring']:.4f} a round, MultiSBM "
        f"{rate['MultiSBM']:.2f}; under a strong bias in ties Sparring pays {worst:.2f}"
    )
    return settled(bool(hoped and worst < 0.01), bool(hoped)), numbers


RULES = {
    "R1": lambda results: sentence("R1", results),
    "R2": lambda results: sentence("R2", results),
    "R3": lambda results: sentence("R3", results),
    "together": together,
    "tournaments": tournaments,
    "arms": arms,
    "dominated": dominated,
    "stuck": stuck,
    "progressions": progressions,
    "sides": sides,
}
#: The pages behind each rule.
PAGES = {
    "R1": ["figure", "choices"],
    "R2": ["figure", "choices"],
    "R3": ["figure", "choices"],
    "together": ["choices"],
    "tournaments": ["growth"],
    "arms": ["growth"],
    "dominated": ["growth"],
    "stuck": ["tails"],
    "progressions": ["figure"],
    "sides": ["beyond"],
}


# The ledger


def judge(claim: Mapping, ledgers: Mapping, linear: Mapping, results: Results) -> dict:
    """The claim with its ``verdict``, the ``numbers`` behind it, ``witnesses`` and ``pages``."""
    rows = [row for role in ROLES for row in witnesses(claim, role, ledgers)]
    verdict, numbers = from_witnesses(claim, ledgers), ""
    pages = [place.proofs(place.root())[row["page"]] for row in rows]
    if "rule" in claim:
        verdict, numbers = RULES[claim["rule"]](results)
        pages += [f"book/experiments/{page}" for page in PAGES[claim["rule"]]]
    if "linear" in claim:
        other = linear[claim["linear"]]
        if rows and verdict != other["verdict"]:
            raise ValueError(f"claim {claim['id']}: {verdict} by witnesses, {other['verdict']}.")
        verdict, numbers = other["verdict"], other["evidence"]
        pages.append("book/experiments/linear")
    if verdict not in VERDICTS:
        raise ValueError(f"claim {claim['id']}: {verdict!r} is not a verdict.")
    if verdict == FALSE and not claim.get("errata"):
        raise ValueError(f"claim {claim['id']} is false; it must name its errata.")
    kept = {key: claim.get(key, "") for key in ("id", "place", "says", "note")}
    kept |= {
        "by": decided_by(claim),
        "theorems": claim.get("by", []),
        "errata": claim.get("errata", []),
    }
    unique = {(row["page"], row["step"]): row for row in rows}
    evidence = {"numbers": numbers, "witnesses": list(unique.values())}
    return kept | {"verdict": verdict, "pages": list(dict.fromkeys(pages))} | evidence


def decided_by(claim: Mapping) -> str:
    """How the verdict came about: by ``rule``, by ``proof``, by a proof of ``less``; else empty."""
    if "rule" in claim or "linear" in claim:
        return "rule"
    if not any(role in claim for role in ROLES):
        return ""
    if not claim.get("by"):
        raise ValueError(f"claim {claim['id']} is judged by proof; `by` must name the statements.")
    return "less" if "short" in claim else "proof"


def grade(claim: Mapping, errata: list[Mapping]) -> str:
    """How far a false claim is from the truth: the worst grade of its errata; else empty."""
    if claim["verdict"] != FALSE:
        return ""
    grades = {entry["id"]: entry.get("grade") for entry in errata if entry["verdict"] == "false"}
    wrong = [name for name in claim["errata"] if grades.get(name) not in GRADES]
    if wrong:
        raise ValueError(f"claim {claim['id']} is false; {', '.join(wrong)} is no false erratum.")
    return min((grades[name] for name in claim["errata"]), key=GRADES.index)


def judged(parts: Mapping[str, list]) -> dict[str, list[dict]]:
    """The claims of each part of the paper, judged from the results of this profile."""
    folder = tables.folder()
    ledgers = {f.stem: json.loads(f.read_text()) for f in (folder / "ledgers").glob("*.json")}
    rows = json.loads(tables.written("claims/linear.json").read_text())
    linear = {row["id"]: row for row in rows}
    read = cache(tables.read)
    return {
        part: [judge(claim, ledgers, linear, read) for claim in claims]
        for part, claims in parts.items()
    }


def tally(claims: list[Mapping]) -> dict[str, int]:
    """How many claims have each verdict."""
    return {v: sum(claim["verdict"] == v for claim in claims) for v in VERDICTS}
