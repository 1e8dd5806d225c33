/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/held_writes.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"

/* The number of writes between two checks of the deadline, at most IOV_MAX. Small, because the
 * guest is stopped, and a write takes milliseconds if the VMM's page must be read from swap. */
#define PART 128
#define PAGE 4096

void hv_held_writes_add(struct hv_held_writes *w, uint64_t hva, const void *bytes, size_t len_bytes)
{
	struct hv_held_write *to;

	assert(len_bytes && len_bytes <= HV_HELD_WRITE_MAX);
	if (w->nr == w->room) {
		w->room = w->room ? 2 * w->room : 16;
		w->list = hv_realloc_array(w->list, w->room, sizeof(*w->list));
	}
	to = &w->list[w->nr++];
	*to = (struct hv_held_write){.hva = hva, .len_bytes = (uint32_t)len_bytes};
	memcpy(to->bytes, bytes, len_bytes);
}

void hv_held_writes_deinit(struct hv_held_writes *w)
{
	free(w->list);
	*w = (struct hv_held_writes){0};
}

/* Writes to text of one page that are made as a single write. */
struct run {
	const struct hv_held_write *first;
	size_t nr;
	size_t len_bytes; /* from the first write to the end of the last */
};

static struct run find_run(const struct hv_held_write *writes, size_t nr)
{
	struct run run = {writes, 1, writes->len_bytes};
	uint64_t page = writes->hva / PAGE;

	for (; run.nr < nr && writes->is_text; run.nr++) {
		const struct hv_held_write *next = &writes[run.nr];
		uint64_t end = next->hva + next->len_bytes;

		if (!next->is_text || next->hva < writes->hva + run.len_bytes ||
		    (end - 1) / PAGE != page)
			break;
		run.len_bytes = end - writes->hva;
	}
	return run;
}

/* Buffer for the runs of one part. A run of a single write has at most HV_HELD_WRITE_MAX bytes. A
 * longer run has at least two writes, so there are at most PART / 2 of them, each within a page. */
static uint8_t contents[PART / 2 * PAGE + PART * HV_HELD_WRITE_MAX];

struct pieces {
	struct iovec ours[PART], theirs[PART];
	size_t nr;
	size_t len_bytes;
};

static void add_piece(struct pieces *p, uint8_t *at, const struct run *run)
{
	p->ours[p->nr] = (struct iovec){at, run->len_bytes};
	p->theirs[p->nr++] = (struct iovec){(void *)(uintptr_t)run->first->hva, run->len_bytes};
	p->len_bytes += run->len_bytes;
}

/* Checks DONE, the return value of the system call with P. */
static struct hv_err *check_done(pid_t vmm, const struct pieces *p, ssize_t done, const char *verb)
{
	size_t i = 0;

	if (done == (ssize_t)p->len_bytes)
		return NULL;
	if (done < 0 && errno != EFAULT)
		return hv_err_new(errno, "process %d: %s: %s", (int)vmm, verb, strerror(errno));
	for (; done > 0 && (size_t)done >= p->theirs[i].iov_len; i++)
		done -= (ssize_t)p->theirs[i].iov_len;
	return hv_err_new(EFAULT, "process %d: %s %zu bytes at 0x%" PRIxPTR ": no memory there",
			  (int)vmm, verb, p->theirs[i].iov_len, (uintptr_t)p->theirs[i].iov_base);
}

/* Copies the bytes of RUN's writes to their offsets at AT, the start of the run. */
static void fill(uint8_t *at, const struct run *run)
{
	for (size_t i = 0; i < run->nr; i++) {
		const struct hv_held_write *w = &run->first[i];

		memcpy(at + (w->hva - run->first->hva), w->bytes, w->len_bytes);
	}
}

static struct hv_err *make_part(pid_t vmm, const struct hv_held_write *writes, size_t nr)
{
	struct pieces read = {.nr = 0}, written = {.nr = 0};
	struct run runs[PART];
	size_t nr_runs = 0;
	struct hv_err *err = NULL;
	uint8_t *at = contents;

	for (size_t i = 0; i < nr; i++)
		if (!writes[i].len_bytes || writes[i].len_bytes > HV_HELD_WRITE_MAX)
			return hv_err_new(EINVAL, "a write of %u bytes is not possible",
					  writes[i].len_bytes);
	for (size_t i = 0; i < nr; i += runs[nr_runs++].nr) {
		runs[nr_runs] = find_run(writes + i, nr - i);
		add_piece(&written, at, &runs[nr_runs]);
		if (runs[nr_runs].nr > 1)
			add_piece(&read, at, &runs[nr_runs]);
		at += runs[nr_runs].len_bytes;
	}
	if (read.nr)
		err = check_done(vmm, &read,
				 process_vm_readv(vmm, read.ours, read.nr, read.theirs, read.nr, 0),
				 "reading");
	if (err)
		return err;
	for (size_t i = 0; i < nr_runs; i++)
		fill(written.ours[i].iov_base, &runs[i]);
	return check_done(
		vmm, &written,
		process_vm_writev(vmm, written.ours, written.nr, written.theirs, written.nr, 0),
		"writing");
}

struct hv_err *hv_held_writes_make(pid_t vmm, const struct hv_held_write *writes, size_t nr,
				   uint64_t deadline_ns)
{
	struct hv_err *err = NULL;

	for (size_t done = 0; !err && done < nr; done += PART) {
		if (hv_now_ns() >= deadline_ns)
			return hv_err_new(ETIMEDOUT, "hold: timed out after %zu of %zu writes",
					  done, nr);
		err = make_part(vmm, writes + done, nr - done < PART ? nr - done : PART);
	}
	return err;
}
