"""Wrong servers are named by the audit, each by its check; a right one passes all."""

from __future__ import annotations

import functools

import pytest

from f3ast_tff.audit.audit import audit
from f3ast_tff.audit.findings import CHECKS, NOTE, RIGHT, WRONG, Audit
from f3ast_tff.audit.fixture import require

FILE = "tests/f3ast_tff/audit/servers.py"


@functools.cache
def audit_of(name: str, rounds: int = 100) -> Audit:
    return audit(f"{FILE}:{name}", rounds=rounds)


def said(found: Audit, check: str, verdict: str = WRONG) -> str:
    return "; ".join(f.found for f in found.findings if (f.check, f.verdict) == (check, verdict))


@pytest.mark.long
def test_a_right_one_passes_all() -> None:
    found = audit_of("aggregate")
    assert not found.wrong()
    assert {f.check for f in found.findings} == set(CHECKS)
    assert {f.verdict for f in found.findings if f.check != "weights"} <= {RIGHT, "not judged"}
    assert found.sentence.endswith("of their weight; no check is wrong.")
    require(f"{FILE}:aggregate", rounds=100)


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "RightMomentum",
        "RightAdam",
        "RightTenth",
        "RightNoise",
        "Decaying",
        "Warming",
        "ByAge",
        "LargestQuarter",
        "from_five",
        "by_losses",
        "Buffered",
    ],
)
def test_other_right_ones_pass_all(name: str) -> None:
    found = audit_of(name)
    assert not found.wrong(), found.wrong()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "check", "words"),
    [
        ("BackCountsDouble", "returning", "away a client counts 1.82 times as usual"),
        ("CachedModels", "weights", "with clients that are seldom there (wrong in: independent"),
        ("CachedForFiveRounds", "weights", "not the mean of clients whose replies arrive"),
        ("CachedForFiveRounds", "scale", "in rounds without replies the model moves 1.00 of"),
        ("FromTheFirstModel", "scale", "the model is replaced: the same updates move it in the"),
        ("OverAllSeen", "scale", "a round that loses half of its replies moves the model 0.50"),
        ("NaNToZero", "replies", "from a good model on, the model stays"),
        ("FirstNumber", "replies", "from a good model on, the model is NaN"),
        ("TenthOfFew", "liveness", "states 10% of the clients; 100% train, of 8"),
        ("ReturningTwice", "returning", "away a client counts 1.82 times as usual"),
        ("CachedReplies", "returning", "has 1.00 of their usual weight"),
        ("CachedReplies", "replies", "clients whose replies are lost have 1.00"),
        ("CachedWhileDecaying", "returning", "away a client has 1.00 of their usual weight"),
        ("CachedWhileDecaying", "replies", "clients whose replies are lost have 1.00"),
        ("CachedModel", "scale", "a round that loses half of its replies moves the model 0.50"),
        ("delta_for_model", "scale", "the model is replaced"),
        ("against", "scale", "sum to -1.00: against the updates"),
        ("hardly", "scale", "sum to 0.00: the model stays"),
        ("count_of_replies", "weights", "not the mean of clients whose replies arrive, by their"),
        ("replies_so_far", "weights", "not the mean of clients whose replies arrive, by their"),
        ("MomentumOnNaN", "replies", "a reply of NaN stays in the server's state"),
        ("AllForATenth", "liveness", "states 10% of the clients; 100% train"),
        ("EndsAlone", "liveness", "still waits at the end of the schedule"),
        ("EndsAlone", "scale", "still waits at the end of the schedule"),
        ("Grows", "memory", "a model a round"),
        ("Unseeded", "determinism", "selects other clients"),
        ("writes", "replies", "it writes into the updates that it gets"),
        ("BackIsDropped", "weights", "not the mean of clients whose replies arrive"),
        ("FewCountTwice", "weights", "not the mean of clients whose replies arrive"),
        ("by_seen_losses", "scale", "a round that loses half of its replies moves the model 0.50"),
        ("first_by_losses", "weights", "count neither by their examples nor alike"),
        ("sum_of_signs", "scale", "a round with 4 of 8 clients moves the model 0.50 times as far"),
        ("median_of_eight", "scale", "a round with 4 of 8 clients moves the model 0.50 times"),
        ("near_the_first", "determinism", "the same replies in another order change the model"),
    ],
)
def test_a_wrong_one_is_named(name: str, check: str, words: str) -> None:
    assert words in said(audit_of(name), check)


@pytest.mark.long
def test_a_rate_that_changes_is_said() -> None:
    """.97 in round 1 and .97^252 in the last."""
    assert "change with the round: 0.97 in the first, 0.00046" in said(
        audit_of("Decaying"), "scale", NOTE
    )


@pytest.mark.long
def test_of_a_server_at_rest_nothing_is_seen() -> None:
    found = audit_of("Stops")
    assert not found.wrong() and not any("nan" in each.found for each in found.findings)
    assert len([f for f in found.findings if f.verdict == "not judged"]) >= 5


@pytest.mark.long
def test_noise_that_hides_a_client_is_no_verdict() -> None:
    found = audit_of("NoisyClip")
    assert not found.wrong(["returning"]) and not found.wrong(["replies"])
    assert "not seen in the server's noise" in said(found, "returning", "not judged")


@pytest.mark.long
def test_rounds_that_are_skipped_are_said() -> None:
    found = audit_of("from_five")
    assert "its replies count for nothing" in said(found, "scale", NOTE)
    assert "of the rounds with replies leave the model as it is" in said(found, "weights", NOTE)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "check", "words"),
    [
        ("ByAge", "weights", "goes by the time since a client's last reply: beside the mean of"),
        ("first_by_losses", "weights", "goes by losses: beside the mean of clients whose replies"),
        ("ForgetsTheAbsent", "memory", "away for two rounds it forgets left"),
    ],
)
def test_what_is_by_design_is_a_note(name: str, check: str, words: str) -> None:
    assert words in said(audit_of(name), check, NOTE)


@pytest.mark.long
def test_losses_that_are_the_same_are_judged() -> None:
    same = "goes by losses; replies of the same loss count by their examples"
    assert same in said(audit_of("by_losses"), "weights", RIGHT)


@pytest.mark.long
def test_a_fault_is_told_from_others() -> None:
    """Momentum on NaN, and selection of all, are wrong in nothing else."""
    assert {f.check for f in audit_of("MomentumOnNaN").wrong()} == {"replies"}
    assert {f.check for f in audit_of("AllForATenth").wrong()} == {"liveness"}
    assert {f.check for f in audit_of("count_of_replies").wrong()} == {"weights"}


@pytest.mark.long
def test_a_rule_that_leaves_replies_out_at_random_keeps_none_of_them() -> None:
    """A client that is away has no weight, and its return is as any other of its rounds."""
    found = audit_of("RandomHalf")
    assert not found.wrong(["returning", "scale"])
    (stale, back) = (each for each in found.findings if each.check == "returning")
    assert stale.value == pytest.approx(0, abs=0.01) and back.verdict != WRONG


@pytest.mark.long
def test_a_client_that_is_never_used_does_not_return_with_a_weight() -> None:
    found = audit_of("without_the_first")
    assert found.wrong(["weights"]) and not found.wrong(["returning", "scale"])
    assert "has no weight" in said(found, "returning", "not judged")


@pytest.mark.long
def test_another_objective_may_be_meant() -> None:
    equal = audit(f"{FILE}:count_of_replies", objective="equal", rounds=100)
    latest = audit(f"{FILE}:CachedReplies", objective="latest", rounds=100)
    assert not equal.wrong() and not latest.wrong(["weights", "returning", "scale"])
    present = audit(f"{FILE}:CachedByPresent", objective="latest", rounds=100)
    assert "a round with 2 of 8 clients moves the model 3.33 times" in said(present, "scale")


@pytest.mark.long
def test_a_median_has_no_linear_weights() -> None:
    found = audit_of("median")
    assert not found.weights and not found.wrong()
    assert "no linear weights" in said(found, "weights", NOTE)


@pytest.mark.long
def test_a_clip_is_seen_at_its_length() -> None:
    """Updates of length s, all alike, make steps of min(s, 2): half of s at s = 4."""
    found = audit_of("clipped")
    assert found.rule.kind == "clips" and 2 < found.rule.clip < 15
    assert "10 clips away" in said(found, "weights", NOTE)


@pytest.mark.long
def test_the_fixture_names_what_is_wrong() -> None:
    with pytest.raises(AssertionError, match="states 10% of the clients; 100% train"):
        require(f"{FILE}:AllForATenth", rounds=100, fail_on=["liveness"])
    require(f"{FILE}:AllForATenth", rounds=100, fail_on=["weights"])


@pytest.mark.long
def test_a_mean_of_those_present_is_not_one_of_all() -> None:
    found = audit(f"{FILE}:aggregate", objective="all", rounds=100)
    assert "not the mean of all clients by their examples" in said(found, "weights")


def test_a_model_that_stays_is_no_verdict() -> None:
    found = audit_of("stays")
    assert found.sentence == "stays cannot be audited: the model stays as it is."
    assert not any("nan" in each.found for each in found.findings)


@pytest.mark.long
def test_clients_that_are_never_asked_are_named() -> None:
    found = audit_of("UpperHalf")
    assert any("left out most of the time" in each.found for each in found.findings)
