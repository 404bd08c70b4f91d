"""Code to model, never running it. The only folder that imports libcst."""
