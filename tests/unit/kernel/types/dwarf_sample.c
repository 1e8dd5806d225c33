/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/kernel/types/dwarf_sample.h"

int sample_use(struct sample *s, unsigned long nr)
{
	s->count.counter += (int)nr + SAMPLE_UNNAMED;
	return s->state + s->c + (int)s->value.word;
}

int main(void)
{
	struct sample s = {.state = SAMPLE_LOW};
	struct sample_later *later = s.later;

	return sample_use(&s, SAMPLE_LARGEST) + (later ? sample_use_later(later) : 0);
}
