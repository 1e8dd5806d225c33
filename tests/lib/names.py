# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that differ between guest kernels: cases take them from here and need not check versions."""

import re

from .ftrace import LONG_SECONDS

# A function of the oldest kernel, and its equivalents in kernels in which it is inline or missing. Names chooses the
# first that the guest's kernel has.
CANDIDATES = {
    "do_filp_open": ("do_filp_open", "do_file_open"),
    "do_mkdirat": ("do_mkdirat", "filename_mkdirat"),
    "do_rmdir": ("do_rmdir", "filename_rmdir"),
    "getname": ("getname", "getname_flags"),
    "pipe_read": ("pipe_read", "anon_pipe_read"),
}
# A struct member of the oldest kernel: its newer name, and the definition of a probe that uses it. A kernel whose
# probes do not support names of members has the older one.
MEMBERS = {"d_iname": ("d_shortname.string", "p:x vfs_open path->dentry->{}:string")}
OWN = "/sys/kernel/tracing"


class Names:
    """names["do_rmdir"] is the guest's equivalent function."""

    def __init__(self, guest):
        self._guest = guest
        self._known = None  # functions of CANDIDATES that the guest has
        self._members = {}

    def __getitem__(self, name):
        return self._function(name) if name in CANDIDATES else self._member(name)

    def in_text(self, text, *names):
        """Returns TEXT with the words NAMES replaced by the guest's equivalents."""
        for name in names:
            text = re.sub(rf"\b{name}\b", self[name], text)
        return text

    def _function(self, name):
        if self._known is None:
            every = sorted({name for names in CANDIDATES.values() for name in names})
            lines = self._guest.run(f"grep -wE '{'|'.join(every)}' /proc/kallsyms || true", LONG_SECONDS).splitlines()
            self._known = {line.split()[2] for line in lines}
        return next(name for name in CANDIDATES[name] if name in self._known)

    def _member(self, name):
        if name not in self._members:
            new, definition = MEMBERS[name]
            said = self._guest.run(
                f"cd {OWN}; echo '{definition.format(new)}' 2>/dev/null >dynamic_events; cat dynamic_events; echo >dynamic_events;"
                " echo >error_log"
            )
            self._members[name] = new if said else name
        return self._members[name]
