"""Words in the name of a score: its measure, and the direction that is better."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from f3ast_tff.analysis.compare.table_languages import english

_HIGHER = (
    "accuracy acc top1 top5 f1 auc auroc precision recall dice iou bleu rouge map r2 reward return "
    "score psnr ssim"
)
_LOWER = "loss error err mae mse rmse perplexity ppl nll wer cer bpc fid brier"
_UP, _DOWN = _HIGHER.split(" "), _LOWER.split(" ")
_ORDER = (*_UP, *_DOWN)
_TIMES = frozenset({"time", "seconds", "rounds"})
# Units counted until a score is reached, as in rounds_to_80_acc.
_UNTIL = frozenset({*_TIMES, "epochs", "steps", "iterations", "hours", "minutes", "bytes"})
_LOSSES = frozenset({"loss", "error", "err"})
# A measure that is lower if better also where the word score follows, as in Brier score.
_NAMED_LOWER = re.compile(
    r"(fid|brier|mae|mape|mse|rmse|nll|ece|wer|cer|bpc|ppl|perplexity)(\d+k?)?(score)?"
)
# Spreads, distances and forgetting: lower is better, whatever the measure.
_SPREADS = re.compile(
    r"gaps?|forgetting|std|stdev|stddev|stderr|sd|sem|var|variance|disparity|unfairness|spread|iqr"
    r"|gini|dispersion|inequality"
)
# A fall of an accuracy is bad, one of a loss is good.
_FALLS = frozenset({"drop", "drops", "decrease", "decline", "degradation", "reduction"})
# An accuracy with these words may be an opponent's, or a difference from something unnamed.
_ASKED = re.compile(
    r"attack\w*|asr|backdoor\w*|poison\w*|mia|membership|privacy|leak\w*|unlearn\w*|forget"
    r"|explained|diff|difference|delta|range|minus|negative"
)
_ONE_MINUS = re.compile(
    r"^([\w\s]*[/.])?((test|val|valid|eval|train)[\s_]*)?(1|one|100\s*%?)[\s_]*([-−]|minus)[\s_]*"
)
# Words of a run's other results, and of its machine.
_RESULTS = frozenset(
    {"best", "final", "last", "stopped", "trained", "ran", "converged", "duration", "runtime"}
    | {"elapsed", "latency", "memory", "energy", "bytes", "mb", "gb", "flops", "seed"}
    | {"id", "pid", "port", "gpu", "host", "node"}
)
# A score with one of these words was asked for: a setting.
_SETTINGS = frozenset({"target", "goal", "threshold", "budget", "limit"})
# Parts of the data, tests first.
SPLITS = (
    *("test", "holdout", "eval", "evaluation", "val", "valid", "validation", "dev"),
    *("", "train", "training"),
)
# Scores that are shares, at most 1 or at most 100 %.
_SHARES = frozenset(
    {"accuracy", "acc", "top1", "top5", "f1", "auc", "auroc", "precision", "recall", "dice", "iou"}
)


def words_of(name: str) -> list[str]:
    """Returns the words of a name in lower case and in English; `testAcc` has two."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return [word for word in re.split(r"[\W_]+", english(spaced).replace("top-", "top")) if word]


def higher_is_better(name: str) -> bool | None:
    """Returns the direction that the name of a score tells; `None` if it tells none, or both.

    Examples:
        >>> from f3ast_tff.analysis.compare.table_directions import higher_is_better
        >>> names = ("test_acc", "neg_log_loss", "rounds_to_80_acc", "1-acc", "attack_acc")
        >>> [higher_is_better(name) for name in names]
        [True, True, False, False, None]
    """
    if len(arrows := {"↑", "↓"} & set(name)) == 1:
        return "↑" in arrows
    if (rest := _one_minus(name)) is not None:
        direction = higher_is_better(rest)
        return None if direction is None else not direction
    words = words_of(name)
    if any(_ASKED.fullmatch(word) for word in words):
        return None
    if "neg" in words:
        # scikit-learn's neg_log_loss; what neg_accuracy means is not known.
        direction = higher_is_better("_".join(word for word in words if word != "neg"))
        return True if direction is False else None
    if _is_until(words):
        return False
    if any(_SPREADS.fullmatch(word) for word in words):
        return False
    return _of_measures(words)


def _is_until(words: Sequence[str]) -> bool:
    """Whether words name the cost of reaching a score, as in mb_to_80_acc."""
    return any(
        two in ("to", "until")
        and (one in _UNTIL or (not one.isdigit() and (three.isdigit() or is_measure(three))))
        for one, two, three in zip(words, words[1:], [*words[2:], ""])
    )


def _one_minus(name: str) -> str | None:
    """The score in 1 - score; `None` for another name, such as 1-shot accuracy."""
    one = _ONE_MINUS.match(name.lower())
    rest = "" if one is None else name[one.end() :]
    first = [word for word in words_of(rest) if word not in SPLITS][:1]
    return rest if first and is_measure(first[0]) else None


def _of_measures(words: Sequence[str]) -> bool | None:
    """The direction of a name that only measures and times tell."""
    named = any(_NAMED_LOWER.fullmatch(word) for word in words)
    up = [word for word in words if word in _UP and not (named and word == "score")]
    down = [w for w in words if w in _DOWN or w in _TIMES or _NAMED_LOWER.fullmatch(w)]
    if _FALLS & set(words):
        return None if down or not up else False
    if up and down:
        # The loss of accuracy, and the top-5 error; in other pairs neither word decides.
        return (
            False if down[-1] in _LOSSES and words.index(down[-1]) > words.index(up[-1]) else None
        )
    return bool(up) if up or down else None


def is_derived(name: str) -> bool:
    """Returns whether a name stands for a value made from a score, such as its spread."""
    words = words_of(name)
    told = any(_SPREADS.fullmatch(w) or _ASKED.fullmatch(w) or w in _FALLS for w in words)
    return told or bool({"to", "until"} & set(words)) or _one_minus(name) is not None


def is_measure(name: str) -> bool:
    """Returns whether a name has a word of a score."""
    return any(word in _ORDER or _NAMED_LOWER.fullmatch(word) for word in words_of(name))


def is_bare_measure(name: str) -> bool:
    """Returns whether a name has words of measures and parts of the data alone: `val_acc`."""
    return is_measure(name) and set(words_of(name)) <= {*_ORDER, *SPLITS}


def is_result(name: str) -> bool:
    """Returns whether a name stands for a result of a run: a score, a time, its best round."""
    words = words_of(name)
    if _SETTINGS & set(words) and "to" not in words:
        return False
    # Names such as epochs_run end in `run`.
    return is_measure(name) or bool({*_TIMES, *_RESULTS} & set(words)) or words[-1:] == ["run"]


def is_share(name: str) -> bool:
    """Returns whether a score is a share, as accuracies are."""
    return bool(_SHARES & set(words_of(name))) and not is_derived(name)


def is_never_negative(name: str) -> bool:
    """Returns whether a score is a share, or the cost of reaching a score."""
    return is_share(name) or _is_until(words_of(name))


def is_generic(name: str) -> bool:
    """Returns whether a name tells no measure and no time: at most the word `score`."""
    return set(words_of(name)) & {*_ORDER, *_TIMES} <= {"score"} and not is_derived(name)


def split_of(name: str) -> int:
    """Returns the rank of a score's part of the data, tests first."""
    words = words_of(name)
    return next((n for n, word in enumerate(SPLITS) if word in words), SPLITS.index(""))


def is_of_splits(values: Iterable[object]) -> bool:
    """Returns whether all values are names of parts of the data, as in LEAF's column `set`."""
    return {english(str(value).strip()) for value in values} <= {*SPLITS} - {""}


def is_loss_beside(name: str, score: str) -> bool:
    """Returns whether a column is a loss on the same part of the data as a score."""
    return words_of(name)[-1:] == ["loss"] and split_of(name) == split_of(score)


def likeliest_scores(names: Sequence[str], may_be: Callable[[str], bool]) -> list[str]:
    """Returns the likeliest score columns: measured ones first, then accuracies, then tests.

    Their names are equally likely; they keep the order of the columns. Bare measures come before
    `acc_ci_low` or `best_acc`.
    """
    found: dict[tuple[bool, bool, int, int, bool], list[str]] = {}
    for name in names:
        if _SETTINGS & set(words_of(name)):
            continue
        words = [word for word in words_of(name) if word in _ORDER]
        if words and may_be(name):
            rank = _ORDER.index(words[-1])
            bare = is_bare_measure(name)
            key = (is_derived(name), rank > 1, split_of(name), rank, not bare)
            found.setdefault(key, []).append(name)
    return found[min(found)] if found else []
