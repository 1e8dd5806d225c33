# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of the guest's kernel that are not the same in all kernels: cases take them from here, and ask for no version."""

import re

from .ftrace import LONG_SECONDS

# By the name in the oldest kernel: what has the same result in others, where that one is inline or is no more. The guest
# has the first of these that is a function of its kernel.
CANDIDATES = {
    "do_filp_open": ("do_filp_open", "do_file_open"),
    "do_mkdirat": ("do_mkdirat", "filename_mkdirat"),
    "do_rmdir": ("do_rmdir", "filename_rmdir"),
    "getname": ("getname", "getname_flags"),
    "pipe_read": ("pipe_read", "anon_pipe_read"),
}
# Members of structs, by the name in the oldest kernel: what newer ones say, and a definition that has it. A kernel whose
# own probes know no names of members has the older one.
MEMBERS = {"d_iname": ("d_shortname.string", "p:x vfs_open path->dentry->{}:string")}
OWN = "/sys/kernel/tracing"


class Names:
    """names["do_rmdir"] is what the guest has in its place."""

    def __init__(self, guest):
        self._guest = guest
        self._known = None  # functions of CANDIDATES that the guest has
        self._members = {}

    def __getitem__(self, name):
        return self._function(name) if name in CANDIDATES else self._member(name)

    def in_text(self, text, *names):
        """TEXT with what the guest has in the place of the words NAMES."""
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
