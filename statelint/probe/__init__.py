"""JAX to model. The only folder that imports jax; the linter itself does so only in the worker process."""
