"""How LoRA's factors are averaged when clients come and go."""
