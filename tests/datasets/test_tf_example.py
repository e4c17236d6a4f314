"""Integers and bytes of `tf.train.Example` messages."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.datasets.tff_database import features_of
from tests.datasets.tff_files import features, field, image_example

# `SerializeToString(deterministic=True)` of TensorFlow 2.14 for the Example with image = [0, 127,
# 128, 255, 300000, -1], none = [] (integers), text = [b"abc"] and x = [1.5].
FROM_TENSORFLOW = bytes.fromhex(
    "0a4e0a200a05696d61676512171a150a13007f8001ff01e0a712ffffffffffffffffff010a0a0a046e6f6e6512021a"
    "000a0f0a047465787412070a050a036162630a0d0a0178120812060a040000c03f"
)


def test_what_tensorflow_wrote() -> None:
    found = features_of(FROM_TENSORFLOW)
    assert set(found) == {"image", "none", "text"}
    image, none = np.asarray(found["image"]), np.asarray(found["none"])
    assert image.tolist() == [0, 127, 128, 255, 300000, -1] and image.dtype == np.int64
    assert none.tolist() == [] and none.dtype == np.int64
    assert found["text"] == [b"abc"]


def test_values_that_are_not_packed() -> None:
    """Each value has its own tag, as version 2 of protocol buffers wrote them: 5 and 300."""
    message = features({"a": field(3, b"\x08\x05\x08\xac\x02")})
    assert list(features_of(message)["a"]) == [5, 300]


def test_an_image() -> None:
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3))
    found = features_of(image_example(image, 99, 19))
    np.testing.assert_array_equal(found["image"], image.ravel())
    assert (list(found["label"]), list(found["coarse_label"])) == ([99], [19])


@pytest.mark.parametrize("cut", [1, 3, 10, 20, 30, len(FROM_TENSORFLOW) - 1])
def test_a_message_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(ValueError, match="damaged tf.train.Example"):
        features_of(FROM_TENSORFLOW[:cut])


@pytest.mark.parametrize(
    "message",
    [b"\x0b", b"\xff" * 11, b"\x0a\x08\x0a\x06\x12\x04\x1a\x02\x0a\xff"],
    ids=["wire type", "endless tag", "endless length"],
)
def test_damaged_messages_are_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match="damaged tf.train.Example"):
        features_of(message)


@pytest.mark.parametrize("raw", [b"\x80", b"\x01\xff", b"\x80" * 10 + b"\x01"])
def test_damaged_lists_are_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="damaged tf.train.Example"):
        features_of(features({"a": field(3, field(1, raw))}))
