/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of all parts of the instances (core/part.h). To add a part, add a line to it. */
#pragma once

#include "tree/instance/core/part.h"

extern const struct hv_publisher hv_publisher;
