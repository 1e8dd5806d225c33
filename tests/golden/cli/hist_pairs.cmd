# SPDX-License-Identifier: GPL-2.0-or-later
# What cannot be recorded is left out of what is counted, unless there is nothing else.
hvtrace attach fake
hvtrace echo fake control calls
hvtrace hist fake vfs_read host:kvm_exit --for=100ms
hvtrace hist fake host:kvm_exit --for=100ms
hvtrace ls fake instances
hvtrace detach fake
