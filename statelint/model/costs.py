"""What the calls of a step cost: executables and what they are due to, bytes donated, and calls that fail."""

from __future__ import annotations

import msgspec

from statelint.diagnostics import Location
from statelint.model.paths import label


class CompiledDonation(msgspec.Struct, frozen=True):
    """The bytes of the state that one device is given to reuse, how many of them shapes and dtypes promise, and how
    many the compiled program does reuse.
    """

    asked: int
    promised: int
    reused: int

    @property
    def described(self) -> str:
        """It, in words."""
        if not self.asked:
            return "compiled, the step is given none of the state to reuse"
        return f"compiled, the step reuses {self.reused:,} of the {self.asked:,} bytes donated on each device"


class Donation(msgspec.Struct, frozen=True):
    """The bytes of the state that the step donates, and how many of them its outputs reuse, by shapes and dtypes.

    Attributes:
        compiled: what the compiled program makes of them, where the step was compiled and the backend tells.
    """

    asked: int
    reused: int
    compiled: CompiledDonation | None = None


class Extra(msgspec.Struct, frozen=True):
    """What makes an executable beyond the first one necessary.

    Attributes:
        call: the call that compiles it; None: the first one after a restore.
        path: of the leaf, static field or node that is other than before.
        before, after: it, in words.
        is_move: it is only at another place: committed to other devices, or to none.
        at: the user's line.
    """

    call: int | None
    path: str
    before: str
    after: str
    is_move: bool = False
    at: Location | None = None

    @property
    def label(self) -> str:
        """The path with the state's name before it."""
        return label(self.path)


class StepFault(msgspec.Struct, frozen=True):
    """A later call that the step refuses: its own output is not what it takes."""

    call: int
    error: str


class RestoreFault(msgspec.Struct, frozen=True):
    """A state that a checkpoint does not take, so that a strong copy stands for it, or does not bring back as the step
    wants it.

    Attributes:
        library: orbax or flax; None where a strong copy was all that was asked for.
        by_step: it is the step that fails, on what was brought back.
        keys: the paths of the typed PRNG keys, where the library takes the state without them.
    """

    library: str | None
    error: str
    by_step: bool = False
    keys: tuple[str, ...] = ()


class Executables(msgspec.Struct, frozen=True):
    """How many executables a plain loop compiles until its key repeats (None: as many as calls, as far as it is
    followed), and how many more the first restored state adds.
    """

    loop: int | None
    restore: int
