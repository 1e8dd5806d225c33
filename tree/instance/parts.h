/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of all parts of the instances (core/part.h). A new part is one more line of it. */
#pragma once

#include "tree/instance/core/part.h"

extern const struct hv_publisher hv_publisher;
