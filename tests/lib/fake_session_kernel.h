/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel of a fake session answers about itself, for the tree and for the parts of the
 * session: its sites are its symbols, and its arch has a few registers. fake_session.c makes it. */
#pragma once

#include "kernel/kernel.h"

extern const struct hv_arch fake_arch;
