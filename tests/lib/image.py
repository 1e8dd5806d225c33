# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that a developer supplies in place of Debian's: a bzImage and its modules. Their suite is
"image:DIGEST"."""

import hashlib
import os
import shutil

PREFIX = "image:"


def directory(suite):
    """Returns the directory of the kernel "image:DIGEST", with the layout of scripts/kernel."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    cache = os.environ.get("HVTRACE_CACHE") or os.path.join(home, "hvtrace")
    return os.path.join(cache, "kernels", f"image-{suite.removeprefix(PREFIX)}")


def install(path, modules):
    """Copies the bzImage at PATH, and lib/modules of the directory MODULES if it is not None, into the cache. Returns the
    name of the suite."""
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:12]
    suite = PREFIX + digest
    into = directory(suite)
    shutil.rmtree(into, ignore_errors=True)
    os.makedirs(f"{into}/boot")
    if modules:
        shutil.copytree(os.path.join(modules, "lib", "modules"), f"{into}/lib/modules", symlinks=True)
    shutil.copyfile(path, f"{into}/boot/vmlinuz-{digest}")
    return suite
