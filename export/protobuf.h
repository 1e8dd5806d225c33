/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes fields of protobuf messages. Only what perfetto.c needs: a library would allocate a
 * structure for each of the messages, of which an event has three. Pure. */
#pragma once

#include <stdint.h>

#include "base/text.h"

/* A field of an integer or an enum. */
void hv_protobuf_number(struct hv_text *out, unsigned field, uint64_t value);
void hv_protobuf_string(struct hv_text *out, unsigned field, const char *s, size_t len_bytes);
void hv_protobuf_message(struct hv_text *out, unsigned field, const struct hv_text *message);
