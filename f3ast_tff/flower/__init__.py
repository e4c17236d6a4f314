"""Flower: the selection methods of this package as a `flwr.serverapp.strategy.Strategy`.

`pip install 'f3ast-tff[flower]'`, on Python 3.11 or newer.
"""

from f3ast_tff.flower.nodes import tell_partition_id as tell_partition_id
from f3ast_tff.flower.strategy import AvailabilityStrategy as AvailabilityStrategy
