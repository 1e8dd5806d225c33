/* SPDX-License-Identifier: MIT */
/* Marks of a program in the trace of the machine that it runs on:
 *
 *	hvtrace_mark("checkout begin");
 *
 * A mark is a prctl(2) with an option that no kernel knows. It fails with EINVAL, and does nothing
 * else; that is all a mark costs while nobody traces. hvtrace, outside of the machine, traces the
 * function security_task_prctl, and finds the text in the arguments of the call:
 *
 *	option		bits 31 to 16: HVTRACE_MARK_MAGIC; below: HVTRACE_MARK_FIRST, _LAST,
 *			_HALVES, the number of the part, and how many bytes of text it has
 *	arg2 to arg5	the text, in the order of memory
 *
 * A program of 64 bits has 32 bytes of text in a call, one of 32 bits has 16 (HVTRACE_MARK_HALVES).
 * A longer text is made of parts, which one thread sends one after the other. No library is needed,
 * and no right, device or file. errno is kept. */
#ifndef HVTRACE_MARK_H
#define HVTRACE_MARK_H

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HVTRACE_MARK_MAGIC	0x6876u /* "hv" */
#define HVTRACE_MARK_FIRST	0x8000u
#define HVTRACE_MARK_LAST	0x4000u
#define HVTRACE_MARK_HALVES	0x2000u
#define HVTRACE_MARK_PART_SHIFT 8
#define HVTRACE_MARK_PARTS	16u
#define HVTRACE_MARK_LEN_MASK	0x3fu
#define HVTRACE_MARK_WORDS	4u

/* Marks the first LEN bytes of TEXT. What does not fit into HVTRACE_MARK_PARTS calls is cut off. */
static inline void hvtrace_mark_bytes(const char *text, size_t len)
{
	const size_t room = HVTRACE_MARK_WORDS * sizeof(unsigned long);
	const int saved = errno;
	unsigned part = 0;

	if (len > HVTRACE_MARK_PARTS * room)
		len = HVTRACE_MARK_PARTS * room;
	do {
		unsigned long words[HVTRACE_MARK_WORDS] = {0, 0, 0, 0};
		unsigned some = (unsigned)(len < room ? len : room);
		unsigned option = HVTRACE_MARK_MAGIC << 16 | part << HVTRACE_MARK_PART_SHIFT | some;

		if (part == 0)
			option |= HVTRACE_MARK_FIRST;
		if (some == len)
			option |= HVTRACE_MARK_LAST;
		if (sizeof(unsigned long) == 4)
			option |= HVTRACE_MARK_HALVES;
		memcpy(words, text, some);
		syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]);
		text += some;
		len -= some;
		part++;
	} while (len);
	errno = saved;
}

static inline void hvtrace_mark(const char *text)
{
	hvtrace_mark_bytes(text, strlen(text));
}

#endif
