# SPDX-License-Identifier: GPL-2.0-or-later
export CHECK_LEAKS=1
# Options may be before, between and after operands, until "--".
hvtrace attach fake --patch=in-place
hvtrace stat fake --json | grep '"domain"'
hvtrace check fake -j | grep '"domain"'
hvtrace ls fake '' -h | head -n 1
hvtrace cat fake -c qemu:///system current_tracer
hvtrace cat fake current_tracer -c qemu:///system
hvtrace cat -- fake current_tracer
hvtrace cat fake -- current_tracer
hvtrace umount fake --lazy
hvtrace record --for 100ms fake -p function >/dev/null; echo $?
# An error names the wrong word in any position.
hvtrace cat fake current_tracer --frob; echo $?
hvtrace cat fake -x current_tracer; echo $?
hvtrace stat --json fake -jx; echo $?
hvtrace stat fake --json=yes; echo $?
hvtrace attach fake --vmlinux; echo $?
hvtrace cat fake -- --help; echo $?
hvtrace detach fake other -c qemu:///system; echo $?
# echo accepts text that begins with a dash.
hvtrace echo fake --append set_ftrace_filter vfs_open
hvtrace echo -a fake set_ftrace_filter --append -x
hvtrace cat fake set_ftrace_filter
hvtrace detach fake
# A command and a shell have their own options.
hvtrace exec nosuch true --json --frob 2>&1 | grep -c option
hvtrace sh nosuch -c true 2>&1 | grep -c option
hvtrace sh nosuch --frob
