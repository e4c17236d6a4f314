"""From features as they are stored to what a model reads, augmentation included."""

from f3ast_tff.preprocessing.as_stored import AsStored
from f3ast_tff.preprocessing.image_crops import ImageCrops
from f3ast_tff.preprocessing.preprocessing import Inputs
from f3ast_tff.preprocessing.scaled_pixels import ScaledPixels

__all__ = ["AsStored", "ImageCrops", "Inputs", "ScaledPixels"]
