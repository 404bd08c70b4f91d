"""Files are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile


def write(path: str, data: bytes) -> None:
    """Put these bytes in the place of a file, at once and with its mode; of a link, in that of what it leads to.

    What is no regular file (a device, a pipe) is written to as it is.

    Raises:
        OSError: it cannot be written; what was there is there still.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        # By the path as given: what a pipe's link in /dev/fd is said to lead to is no path.
        with open(path, "wb") as stream:
            stream.write(data)
        return
    target = os.path.realpath(path)
    descriptor, temporary = tempfile.mkstemp(prefix=".statelint-", suffix=".tmp", dir=os.path.dirname(target))
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        else:
            os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    """The mask for new files, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
