"""Files are written whole or not at all, and told apart by their content."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import re
import shutil
import tempfile


def place(path: str) -> str:
    """A path from the root, which may lead over links, so that nothing of it can be left out."""
    return os.path.join(os.getcwd(), path.removeprefix(f".{os.sep}"))


def write(path: str, data: bytes, *, lasting: bool = True) -> None:
    """Put these bytes in the place of a file, at once and with its mode; of a link, in that of what it leads to.

    What is no regular file (a device, a pipe) is written to as it is.

    Args:
        lasting: it outlives a power cut; that takes a while, which what can be made anew is not worth.

    Raises:
        OSError: it cannot be written; what was there is there still.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        # By the path as given: what a pipe's link in /dev/fd is said to lead to is no path.
        with open(path, "wb") as stream:
            stream.write(data)
        return
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.access(target, os.W_OK):
        # Its folder would let us put another in its place, but someone wants this one as it is.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    folder = os.path.dirname(target)
    sweep(folder)
    descriptor, temporary = tempfile.mkstemp(prefix=f".statelint-{os.getpid()}-", suffix=".tmp", dir=folder)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
            if lasting:
                stream.flush()
                os.fsync(stream.fileno())
        if os.path.exists(target):
            shutil.copymode(target, temporary)
            _keep_owner(target, temporary)
        else:
            os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _keep_owner(target: str, temporary: str) -> None:
    status, own = os.stat(target), os.stat(temporary)
    if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (own.st_uid, own.st_gid):
        with contextlib.suppress(OSError):  # only root can give a file away
            os.chown(temporary, status.st_uid, status.st_gid)


@functools.cache
def sweep(folder: str) -> None:
    """Delete what processes that were killed while they wrote have left in a folder; once for each is enough."""
    for name in os.listdir(folder):
        left = _TEMPORARY.fullmatch(name)
        if left is not None and not _is_alive(int(left["process"])):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))


_TEMPORARY = re.compile(r"\.statelint-(?P<process>\d+)-.*\.tmp")


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # where to ask so would be to end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _umask() -> int:
    """The mask for new files, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def digest(data: bytes) -> bytes:
    """16 bytes that stand for these: of two contents that differ, they differ."""
    return hashlib.blake2b(data, digest_size=16).digest()
