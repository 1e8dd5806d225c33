# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach --for=200ms fake
no_service
ls $RUN
hvtrace attach --idle=200ms fake
no_service
ls $RUN
