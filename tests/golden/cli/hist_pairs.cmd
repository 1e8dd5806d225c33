# SPDX-License-Identifier: GPL-2.0-or-later
# Events that cannot be recorded are not counted; if there are no others, hist fails.
hvtrace attach fake
hvtrace echo fake control calls
hvtrace hist fake vfs_read host:kvm_exit --for=100ms
hvtrace hist fake host:kvm_exit --for=100ms
hvtrace echo fake control wakeup 16 # EBUSY
hvtrace hist fake vfs_read sched:sched_wakeup --for=100ms
hvtrace ls fake instances
hvtrace detach fake
