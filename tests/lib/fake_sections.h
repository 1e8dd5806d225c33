/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The section tracer of a fake session (fake_session.h). The test sets the longest section. */
#pragma once

struct hv_section_tracer;

/* *FAIL (borrowed) is the errno of the next change; 0: it succeeds. */
struct hv_section_tracer *fake_sections_new(int *fail);
void fake_sections_free(struct hv_section_tracer *s);
