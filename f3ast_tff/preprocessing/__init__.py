"""From features as they are stored to what a model reads, augmentation included."""

from f3ast_tff.preprocessing.deterministic import AsStored, Deterministic, ScaledPixels
from f3ast_tff.preprocessing.image_crops import ImageCrops
from f3ast_tff.preprocessing.preprocessing import Preprocessing

__all__ = ["AsStored", "Deterministic", "ImageCrops", "Preprocessing", "ScaledPixels"]
