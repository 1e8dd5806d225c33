# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace echo fake control busy 2
kill $(cat $RUN/*/pid)
no_service
ls $RUN
