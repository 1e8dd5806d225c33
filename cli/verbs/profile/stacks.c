/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/profile/stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/programs/unwind.h"

#define PAGE	   4096u
#define PAGES	   32u	 /* of a chunk (cli/service/programs.h) */
#define CHUNKS_MAX 1024u /* in memory; all are read again when there are more */
#define FILES_MAX  512u	 /* whose rules are looked up */
#define PART	   2	 /* unwinding takes at most 1/PART of the time */

/* Pages of a file. */
struct chunk {
	uint64_t present; /* a bit for each page */
	uint8_t bytes[PAGES * PAGE];
};

/* A file in one of the places where it can be read. */
struct source {
	struct hv_elf_file elf;
	struct hv_cfi *cfi; /* owned; NULL: the file has no rules that can be read */
};

struct stacks_file {
	struct stacks *stacks; /* borrowed */
	uint32_t number;       /* from 1 */
	uint32_t pid;	       /* a task that has mapped it */
	struct hv_map chunks;  /* struct chunk, owned; by number of the chunk + 1 */
	uint64_t *numbers;     /* owned; the keys of CHUNKS */
	size_t nr;
	struct source guest, host;
	int fd; /* of HOST; -1: none */
};

static void forget_chunks(struct stacks_file *f)
{
	for (size_t i = 0; i < f->nr; i++)
		free(hv_map_find(&f->chunks, f->numbers[i]));
	hv_map_deinit(&f->chunks);
	free(f->numbers);
	f->numbers = NULL;
	f->nr = 0;
}

void stacks_deinit(struct stacks *s)
{
	for (size_t i = 0; i < s->nr_files; i++) {
		struct stacks_file *f = s->files[i];

		if (!f)
			continue;
		forget_chunks(f);
		hv_cfi_free(f->guest.cfi);
		hv_cfi_free(f->host.cfi);
		hv_close_at(&f->fd);
		free(f);
	}
	free(s->files);
	*s = (struct stacks){0};
}

/* -- pages of the guest ------------------------------------------------------------------------- */

static void ask(const struct stacks_file *f, uint64_t number, struct chunk *ret)
{
	struct programs *p = f->stacks->programs;
	const struct program_file *file = &p->files[f->number - 1];
	HV_AUTO_FREE char *text =
		hv_format("%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64, file->mapping, file->ino,
			  file->len_bytes, number * PAGES);
	struct hv_span data = {0};
	struct hv_err *err = p->is_off ? NULL : client_pages(p->client, f->pid, text, &data);

	if (p->is_off || err) {
		/* The next request of the recording reports a session that is gone. */
		p->is_off = true;
		hv_err_free(err);
		return;
	}
	if (data.len_bytes != sizeof(ret->present) + sizeof(ret->bytes))
		return;
	hv_span_u64(data, 0, &ret->present);
	hv_span_copy(data, sizeof(ret->present), ret->bytes, sizeof(ret->bytes));
}

static const struct chunk *find_chunk(struct stacks_file *f, uint64_t number)
{
	struct stacks *s = f->stacks;
	struct chunk *c = hv_map_find(&f->chunks, number + 1);

	if (c)
		return c;
	if (s->nr_chunks == CHUNKS_MAX) {
		for (size_t i = 0; i < s->nr_files; i++)
			if (s->files[i])
				forget_chunks(s->files[i]);
		s->nr_chunks = 0;
	}
	c = hv_alloc(sizeof(*c));
	ask(f, number, c);
	f->numbers = hv_realloc_array(f->numbers, f->nr + 1, sizeof(*f->numbers));
	f->numbers[f->nr++] = number + 1;
	hv_map_add(&f->chunks, number + 1, c);
	s->nr_chunks++;
	return c;
}

/* Implements read of struct hv_elf_file. */
static bool read_guest(void *ctx, uint64_t off, void *buf, size_t len_bytes)
{
	for (size_t at = 0, len; at < len_bytes; at += len) {
		uint64_t page = (off + at) / PAGE, in_page = (off + at) % PAGE;
		const struct chunk *c = find_chunk(ctx, page / PAGES);

		len = len_bytes - at < PAGE - in_page ? len_bytes - at : PAGE - in_page;
		if (!(c->present >> page % PAGES & 1))
			return false;
		memcpy((uint8_t *)buf + at, c->bytes + page % PAGES * PAGE + in_page, len);
	}
	return true;
}

/* -- files -------------------------------------------------------------------------------------- */

/* The length of the vDSO is not known; its pages end it. */
#define VDSO	 "[vdso]"
#define VDSO_MAX (64 * PAGE)

static bool is_vdso(const struct program_file *f)
{
	return !f->mapping && strcmp(f->path, VDSO) == 0;
}

static struct stacks_file *open_file(struct stacks *s, uint32_t number, uint32_t pid)
{
	const struct program_file *file = &s->programs->files[number - 1];
	struct stacks_file *f = hv_alloc(sizeof(*f));

	*f = (struct stacks_file){.stacks = s, .number = number, .pid = pid, .fd = -1};
	f->guest.elf = (struct hv_elf_file){
		.read = read_guest,
		.ctx = f,
		.len_bytes = is_vdso(file)   ? VDSO_MAX
			     : file->mapping ? file->len_bytes
					     : 0,
	};
	if (s->nr_opened == FILES_MAX)
		return f;
	s->nr_opened++;
	f->guest.cfi = f->guest.elf.len_bytes ? hv_cfi_new(&f->guest.elf) : NULL;
	f->fd = programs_open_symfs(s->programs, file);
	if (f->fd < 0)
		return f;
	f->host.elf = programs_host_elf(&f->fd);
	f->host.cfi = hv_cfi_new(&f->host.elf);
	return f;
}

static struct stacks_file *file_of(struct stacks *s, uint32_t number, uint32_t pid)
{
	if (number > s->nr_files) {
		s->files = hv_realloc_array(s->files, number, sizeof(*s->files));
		memset(s->files + s->nr_files, 0, (number - s->nr_files) * sizeof(*s->files));
		s->nr_files = number;
	}
	if (!s->files[number - 1])
		s->files[number - 1] = open_file(s, number, pid);
	return s->files[number - 1];
}

/* Finds the rules for the code at AT of task PID. */
static bool find_row(struct stacks *s, uint32_t pid, const char *comm, uint64_t at,
		     struct hv_cfi_row *ret)
{
	struct stacks_file *f;
	uint32_t file = 0;
	uint64_t off = 0;

	if (programs_find(s->programs, pid, comm, at, &file, &off) != HV_PROFILE_FILE)
		return false;
	f = file_of(s, file, pid);
	return (f->guest.cfi && hv_cfi_find(f->guest.cfi, off, ret)) ||
	       (f->host.cfi && hv_cfi_find(f->host.cfi, off, ret));
}

/* -- stacks ------------------------------------------------------------------------------------- */

static enum stacks_end end_of(enum hv_user_unwound result)
{
	return result == HV_USER_UNWOUND_ALL	    ? STACKS_COMPLETE
	       : result == HV_USER_UNWOUND_TOO_LONG ? STACKS_TOO_LONG
						    : STACKS_WRONG;
}

/* The caller of this function subtracts one from return addresses, but not from the first word. */
static enum stacks_end walk(struct stacks *s, uint32_t pid, const char *comm,
			    struct hv_user_frame *f, uint64_t *ret, size_t *nr)
{
	struct hv_cfi_row row;

	ret[(*nr)++] = hv_user_frame_ip(f);
	for (;;) {
		enum hv_user_unwound result;

		if (!find_row(s, pid, comm, hv_user_frame_ip(f) - !f->is_exact, &row))
			return STACKS_NO_CFI;
		result = hv_unwind_user(f, &row);
		if (result != HV_USER_UNWOUND_CALLER)
			return end_of(result);
		if (*nr == HV_PROFILE_USER_MAX)
			return STACKS_TOO_LONG;
		ret[(*nr)++] = hv_user_frame_ip(f) + f->is_exact;
	}
}

static bool has_time(struct stacks *s, uint64_t now_ns)
{
	if (now_ns - s->period_ns >= HV_NS_PER_S) {
		s->period_ns = now_ns;
		s->spent_ns = 0;
	}
	return s->spent_ns < HV_NS_PER_S / PART;
}

/* Appends REST to COPY if both are of the same stack, and nothing is missing between them. */
static struct hv_span join(struct stacks *s, const struct hv_dwarf_regs *names, struct hv_span copy,
			   struct hv_span rest)
{
	size_t regs = names->len_bytes, first = regs + HV_USER_COPY_REST;

	if (copy.len_bytes < first || rest.len_bytes <= regs ||
	    first + rest.len_bytes - regs > sizeof(s->joined) ||
	    memcmp(copy.data, rest.data, regs) != 0)
		return copy;
	memcpy(s->joined, copy.data, first);
	memcpy(s->joined + first, rest.data + regs, rest.len_bytes - regs);
	return (struct hv_span){s->joined, first + rest.len_bytes - regs};
}

size_t stacks_unwind(void *ctx, uint32_t pid, const char *comm, struct hv_span copy,
		     struct hv_span rest, uint64_t *ret)
{
	struct stacks *s = ctx;
	const struct hv_dwarf_regs *names = &hv_dwarf_regs_x86_64; /* no others are copied */
	uint64_t begin_ns = hv_now_ns(), ip;
	struct hv_user_frame f;
	enum stacks_end end;
	size_t nr = 0;

	copy = join(s, names, copy, rest);
	if (hv_user_frame_init(&f, names, copy)) {
		ip = hv_user_frame_ip(&f);
		end = STACKS_NO_TIME;
		if (has_time(s, begin_ns))
			end = walk(s, pid, comm, &f, ret, &nr);
		else
			ret[nr++] = ip;
		s->spent_ns += hv_now_ns() - begin_ns;
	} else {
		end = STACKS_32_BIT;
		nr = hv_span_u64(copy, names->offs[names->ip], &ret[0]);
	}
	s->nr[end]++;
	return nr;
}

void stacks_report(const struct stacks *s, struct hv_text *out)
{
	static const char *const words[STACKS_NR_ENDS] = {
		[STACKS_NO_CFI] = "no call frame information of a function",
		[STACKS_TOO_LONG] = "longer than the copy",
		[STACKS_WRONG] = "wrong call frame information",
		[STACKS_32_BIT] = "32-bit programs",
		[STACKS_NO_TIME] = "no time to unwind them",
	};
	uint64_t all = 0, early;

	for (unsigned i = 0; i < STACKS_NR_ENDS; i++)
		all += s->nr[i];
	early = all - s->nr[STACKS_COMPLETE];
	if (!early)
		return;
	hv_text_printf(out, "%" PRIu64 " of %" PRIu64 " stacks of programs end early:", early, all);
	for (unsigned i = STACKS_COMPLETE + 1, nr = 0; i < STACKS_NR_ENDS; i++)
		if (s->nr[i])
			hv_text_printf(out, "%s %" PRIu64 ": %s", nr++ ? "," : "", s->nr[i],
				       words[i]);
	hv_text_add(out, "\n");
}
