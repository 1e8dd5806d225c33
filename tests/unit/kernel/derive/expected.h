/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members that must be among derived facts. */
#pragma once

#include <check.h>

#include "kernel/types/facts.h"

struct expected {
	const char *type, *member;
	uint32_t off;
	unsigned proofs;
};

static inline void check_expected(const struct hv_facts *facts, const struct expected *e)
{
	const struct hv_fact *f = hv_facts_find(facts, e->type, e->member);

	ck_assert_msg(f, "%s of %s is not known", e->member, e->type);
	ck_assert_msg(f->off == e->off && f->proofs == e->proofs, "%s of %s: 0x%x, proofs 0x%x",
		      e->member, e->type, f->off, f->proofs);
}
