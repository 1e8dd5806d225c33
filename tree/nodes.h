/* The directories of the tree: which node stands where, under which name. */
#pragma once

#include "tree/files/node.h"

/* The top directory. */
extern const struct hv_node hv_root_node;
