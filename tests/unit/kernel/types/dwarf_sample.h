/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types whose DWARF test_dwarf.c reads and compares with the compiler's layout. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sample_later;

typedef struct {
	int counter;
} sample_count;

typedef int (*sample_fn)(struct sample_later *later, const char *text, ...);

enum sample_state { SAMPLE_LOW = -3, SAMPLE_HIGH = 200 };
enum { SAMPLE_UNNAMED = 77, SAMPLE_LARGEST = 0xfffffff0u };

union sample_value {
	uint64_t word;
	struct sample_later *later;
};

struct sample {
	char comm[16];
	sample_count count;
	volatile unsigned long flags;
	struct sample_later *later;
	const struct sample *next;
	sample_fn fn;
	union {
		uint32_t low;
		struct {
			uint16_t first;
			uint16_t second;
		};
	};
	unsigned int a : 3, b : 11;
	int c : 9;
	bool is_on : 1;
	uint8_t table[3][5];
	enum sample_state state;
	union sample_value value;
	double ratio;
	uint64_t tail[];
};

struct sample_later {
	struct sample *of;
	int16_t number;
};

int sample_use(struct sample *s, unsigned long nr);
int sample_use_later(const struct sample_later *later);
