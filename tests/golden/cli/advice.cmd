# SPDX-License-Identifier: GPL-2.0-or-later
# An error's facts become advice: a command, with the domain as the user named it.
hvtrace attach locked
hvtrace attach bare
hvtrace attach left
hvtrace recover left
hvtrace recover bare
hvtrace check bare | grep PREVENTS
hvtrace check --json locked | grep domain
hvtrace check locked
# In a session there is nothing to recover yet.
hvtrace attach fake
hvtrace echo fake current_tracer stuck
hvtrace detach fake
