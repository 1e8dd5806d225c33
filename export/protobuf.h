/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes fields of protobuf messages. A message is a text: the caller adds its fields, then adds the
 * text to the outer message. There is no library for this because one would allocate a structure for
 * each message. */
#pragma once

#include "base/text.h"

/* Adds an integer, bool or enum. */
void hv_protobuf_number(struct hv_text *out, unsigned field, uint64_t value);
void hv_protobuf_string(struct hv_text *out, unsigned field, const char *s, size_t len_bytes);
void hv_protobuf_message(struct hv_text *out, unsigned field, const struct hv_text *message);
/* Adds an element of a packed list of integers. The list is a message without field numbers. */
void hv_protobuf_element(struct hv_text *list, uint64_t value);
