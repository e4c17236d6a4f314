"""Components against the properties of their kind: what `f3ast-tff test` runs."""
