"""Pictures of hyperbolic space and of its noise; they need matplotlib (the extra ``plots``)."""
