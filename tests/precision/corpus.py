"""Downloads the packages of the record, at the recorded versions, into the folder that is given.

Only their source is needed, so that their own requirements are left out.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PACKAGES = {
    "optax": ("0.2.8", "optax"),
    "flax": ("0.12.8", "flax"),
    "equinox": ("0.13.8", "equinox"),
    "chex": ("0.1.92", "chex"),
    "brax": ("0.14.2", "brax"),
    "blackjax": ("1.7.1", "blackjax"),
    "numpyro": ("0.22.0", "numpyro"),
    "gymnax": ("1.0.1", "gymnax"),
    "jumanji": ("1.1.2", "jumanji"),
    "distrax": ("0.1.9", "distrax"),
    "dm-haiku": ("0.0.17", "haiku"),
    "optimistix": ("0.1.0", "optimistix"),
    "diffrax": ("0.7.2", "diffrax"),
    "evosax": ("0.3.2", "evosax"),
    "flashbax": ("0.1.3", "flashbax"),
    "mctx": ("0.0.71", "mctx"),
    "kfac-jax": ("0.0.8", "kfac_jax"),
    "orbax-checkpoint": ("0.12.8", "orbax"),
    "mujoco-mjx": ("3.17.0", "mujoco/mjx"),
    "pgx": ("2.6.0", "pgx"),
}
"""The packages by name: their version, and the folder that is read."""


def install(folder: Path, versions: Mapping[str, str]) -> None:
    """Install these packages into a folder, without their requirements."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [f"{name}=={version}" for name, version in versions.items()]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*command, "--upgrade", "--target", str(folder), *wanted], check=True)


def main() -> int:
    """Install those of the record."""
    try:
        install(Path(sys.argv[1]), {name: version for name, (version, _) in PACKAGES.items()})
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
