/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directories of the tree: the nodes that they contain, with their names. */
#pragma once

#include "tree/files/node.h"

/* The top directory. */
extern const struct hv_node hv_root_node;
