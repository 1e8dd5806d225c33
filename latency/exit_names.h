/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words that the host's kernel has for reasons of exits: as the text of its event kvm_exit says
 * them ("cpuid", "IO_INSTRUCTION"), so that no table of ours is needed. */
#pragma once

#include "base/text.h"
#include "kernel/events/catalogue.h"
#include "tracer/events/event.h"

struct hv_exit_names;

/* C, which is borrowed, may be without the event. */
struct hv_exit_names *hv_exit_names_new(const struct hv_catalogue *c);
void hv_exit_names_free(struct hv_exit_names *n);
/* Adds the word for the reason of E, a kvm_exit; its number if there is no word. */
void hv_exit_names_add(const struct hv_exit_names *n, const struct hv_event *e, uint64_t reason,
		       struct hv_text *out);
