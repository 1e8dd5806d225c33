/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel of a fake session, as the tree and the other parts of the session see it: the sites
 * are its symbols, and its architecture has a few registers. fake_session.c creates it. */
#pragma once

#include "kernel/kernel.h"

extern const struct hv_arch fake_arch;
