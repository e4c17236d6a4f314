"""Reads serialized `tf.train.Example` messages by protobuf alone, without TensorFlow."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np


def features_of(message: bytes) -> dict[str, np.ndarray | list[bytes]]:
    """Returns the features of an Example by name; those of floating-point numbers are left out.

    Args:
        message: A serialized `tf.train.Example`.

    Returns:
        `int64 [number of values]`, or a list of bytes, for each name.

    Raises:
        ValueError: If the message is damaged.
    """
    from google.protobuf.message import DecodeError

    try:
        example = _example_class().FromString(message)
    except DecodeError as error:
        raise ValueError(f"damaged tf.train.Example: {error}") from error
    found: dict[str, np.ndarray | list[bytes]] = {}
    for name, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind")
        if kind == "int64_list":
            values = feature.int64_list.value
            found[name] = np.fromiter(values, np.int64, len(values))
        elif kind == "bytes_list":
            found[name] = list(feature.bytes_list.value)
    return found


@lru_cache(maxsize=1)
def _example_class() -> Any:
    """The message class, as TensorFlow's example.proto and feature.proto declare it."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="example.proto", package="tensorflow", syntax="proto3"
    )
    pool = descriptor_pool.DescriptorPool()

    def add(owner: Any, name: str, number: int, kind: Any, repeated: bool = False) -> Any:
        label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
        of_message = {"type": field.TYPE_MESSAGE, "type_name": f".tensorflow.{kind}"}
        of = of_message if isinstance(kind, str) else {"type": kind}
        return owner.field.add(name=name, number=number, label=label, **of)

    kinds = {
        "BytesList": field.TYPE_BYTES,
        "FloatList": field.TYPE_FLOAT,
        "Int64List": field.TYPE_INT64,
    }
    for name, kind in kinds.items():
        add(file.message_type.add(name=name), "value", 1, kind, repeated=True)
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, (name, list_kind) in enumerate(
        (("bytes_list", "BytesList"), ("float_list", "FloatList"), ("int64_list", "Int64List")), 1
    ):
        add(feature, name, number, list_kind).oneof_index = 0
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    add(entry, "key", 1, field.TYPE_STRING)
    add(entry, "value", 2, "Feature")
    add(features, "feature", 1, "Features.FeatureEntry", repeated=True)
    add(file.message_type.add(name="Example"), "features", 1, "Features")

    pool.AddSerializedFile(file.SerializeToString())
    descriptor = pool.FindMessageTypeByName("tensorflow.Example")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)
