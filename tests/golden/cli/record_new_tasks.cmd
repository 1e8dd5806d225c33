# SPDX-License-Identifier: GPL-2.0-or-later
# Each event is the first one of a new task, whose name is known only after the event was read.
# All events must have the name.
hvtrace attach fake
hvtrace echo fake control tasks
hvtrace echo fake control 'raw 8'
hvtrace record fake -p function --for=500ms -o - --format=jsonl
hvtrace detach fake
