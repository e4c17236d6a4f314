"""Clients that attack: by what they send, or by the labels that they train on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.attacks.attack import Attack as Attack
    from f3ast_tff.attacks.attack import AttackConfig as AttackConfig
    from f3ast_tff.attacks.label_flip import LabelFlip as LabelFlip
    from f3ast_tff.attacks.sent import Noise as Noise
    from f3ast_tff.attacks.sent import SignFlip as SignFlip

__getattr__, __dir__ = lazy_names(__name__)
