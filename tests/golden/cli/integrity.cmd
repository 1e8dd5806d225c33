# SPDX-License-Identifier: GPL-2.0-or-later
# A guest that checks its kernel's text is refused, unless it is forced.
hvtrace check guarded | grep -E '^(PREVENTS|traceable)'
hvtrace attach guarded
hvtrace attach --force guarded
hvtrace detach guarded
