# SPDX-License-Identifier: GPL-2.0-or-later
"""Random operations by several processes in parallel."""

import errno
import os
import random

from tree import case, code_of, t_write, until

DOCUMENTED = {"EINVAL", "EBUSY", "EAGAIN", "EBADF", "ENOENT", "EISDIR", "ENOTDIR", "EPERM", "EACCES", "ESPIPE",
              "EEXIST", "ENOTTY", "ENOTSUP", "EINTR", "ENODEV", "ERANGE", "ENOTEMPTY"}


def random_step(t, dice, files):
    """One operation on the mount, or on an open file."""
    names = [*os.listdir(t.dir), "nothing", "current_tracer/x", ".", "instances"]
    words = [b"a ", b"nop\n", b"function\n", b"1\n", b"0", b"", b"emit 3\n", b"\0\xff", b"nosuch\n", b"x" * 300]
    path = t.path(dice.choice(names))
    fd = dice.choice(files) if files else None
    kind = dice.randrange(12)
    if kind < 4 and len(files) < 40:
        flags = dice.choice([os.O_RDONLY, os.O_WRONLY, os.O_RDWR]) | dice.choice([0, os.O_TRUNC, os.O_APPEND])
        files.append(os.open(path, flags | os.O_NONBLOCK))
    elif kind == 4 and fd is not None:
        os.read(fd, dice.choice([1, 10, 4096, 200000]))
    elif kind in (5, 6) and fd is not None and b"control" not in os.readlink(f"/proc/self/fd/{fd}").encode():
        os.write(fd, dice.choice(words))
    elif kind == 7 and fd is not None:
        os.lseek(fd, dice.choice([0, 3, 100000]), dice.choice([os.SEEK_SET, os.SEEK_CUR]))
    elif kind == 8 and fd is not None:
        files.remove(fd)
        os.close(fd)
    elif kind == 9:
        dice.choice([os.mkdir, os.rmdir, os.unlink, os.stat, os.listdir])(path)
    elif kind == 10 and fd is not None:
        dice.choice([os.fstat, lambda f: os.ftruncate(f, 0), os.fsync, lambda f: os.sendfile(1, f, 0, 0)])(fd)
    elif kind == 11:
        dice.choice([lambda p: os.truncate(p, 0), lambda p: os.utime(p), lambda p: os.chmod(p, 0o600),
                     lambda p: os.getxattr(p, "user.x"), lambda p: os.symlink("x", p + "y"),
                     lambda p: os.link(p, p + "y"), lambda p: os.rename(p, p + "y")])(path)


@case
def random_operations(t):
    """Every operation on the mount gives an errno that tracefs documents, and nothing hangs."""
    seed = random.randrange(1 << 32)
    children = []
    for number in range(3):
        pid = os.fork()
        if pid == 0:
            dice, files = random.Random(seed + number), []
            status = 0
            for _ in range(3000):
                try:
                    random_step(t, dice, files)
                except OSError as error:
                    if errno.errorcode[error.errno] not in DOCUMENTED:
                        print(f"seed {seed}: {error}", flush=True)
                        status = 1
                        break
            os._exit(status)
        children.append(pid)
    for pid in children:
        assert os.waitpid(pid, 0)[1] == 0, f"seed {seed}"
    until(lambda: code_of(t_write, t.path("current_tracer"), b"nop\n") == 0)
