/* SPDX-License-Identifier: MIT */
/* Lets a program mark a moment in the trace of the virtual machine it runs on:
 *
 *	hvtrace_mark("checkout begin");
 *
 * A mark is a prctl(2) call with an option that no kernel implements. The call fails with EINVAL
 * and has no other effect. hvtrace, on the host, traces the function security_task_prctl and takes
 * the text from the arguments of the call:
 *
 *	option		bits 31 to 16: HVTRACE_MARK_MAGIC; bits 15 to 0: HVTRACE_MARK_FIRST, _LAST,
 *			_HALVES, the index of this part, and its number of text bytes
 *	arg2 to arg5	the text, in memory order
 *
 * A call carries 32 bytes of text from a 64-bit program and 16 bytes from a 32-bit program
 * (HVTRACE_MARK_HALVES). A longer text is split into parts, which one thread sends in sequence.
 *
 * This header needs no library, privilege, device or file, and it preserves errno. */
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

/* Marks the first LEN bytes of TEXT. Text that does not fit into HVTRACE_MARK_PARTS calls is cut
 * off. */
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
