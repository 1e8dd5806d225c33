/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/icache.h"

#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vmm/process/maps.h"

#define TRIES 8

static bool add_to(struct hv_icache_run *run, uint64_t start, uint64_t end)
{
	if (run->start / HV_ICACHE_BLOCK != start / HV_ICACHE_BLOCK)
		return false;
	run->start = start < run->start ? start : run->start;
	run->end = end > run->end ? end : run->end;
	return true;
}

/* Searches the runs backwards, because most writes are next to the previous one. */
size_t hv_icache_runs(const struct hv_held_writes *writes, uint64_t page_bytes,
		      struct hv_icache_run **ret)
{
	struct hv_icache_run *runs = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < writes->nr; i++) {
		const struct hv_held_write *w = &writes->list[i];
		uint64_t start = w->hva / page_bytes * page_bytes;
		uint64_t last = (w->hva + w->len_bytes - 1) / page_bytes * page_bytes;

		for (; w->is_text && start <= last; start += page_bytes) {
			size_t at = nr;

			while (at > 0 && !add_to(&runs[at - 1], start, start + page_bytes))
				at--;
			if (at)
				continue;
			runs = hv_realloc_array(runs, nr + 1, sizeof(*runs));
			runs[nr++] = (struct hv_icache_run){start, start + page_bytes};
		}
	}
	*ret = runs;
	return nr;
}

/* The part of a run that is in one mapping of the VMM. */
struct part {
	struct hv_icache_run run;
	struct hv_icache_run block; /* the run's block, clipped to the mapping */
	bool shared;
};

struct parts {
	struct part *list; /* owned */
	size_t nr;
	uint64_t nr_bytes; /* sum of all runs in the list */
};

static void add_part(struct parts *parts, const struct hv_vma *vma, const struct hv_icache_run *run)
{
	uint64_t block = run->start / HV_ICACHE_BLOCK * HV_ICACHE_BLOCK;
	uint64_t end = block + HV_ICACHE_BLOCK;

	if (run->start >= vma->end || run->end <= vma->start)
		return;
	parts->list = hv_realloc_array(parts->list, parts->nr + 1, sizeof(*parts->list));
	parts->list[parts->nr++] = (struct part){
		.run = {run->start > vma->start ? run->start : vma->start,
			run->end < vma->end ? run->end : vma->end},
		.block = {block > vma->start ? block : vma->start, end < vma->end ? end : vma->end},
		.shared = vma->shared,
	};
	parts->nr_bytes +=
		parts->list[parts->nr - 1].run.end - parts->list[parts->nr - 1].run.start;
}

static struct hv_err *changed(pid_t pid)
{
	return hv_err_new(EAGAIN, "process %d: mappings of the guest's text changed; retry",
			  (int)pid);
}

/* Rejects hugetlbfs: neither method below unmaps part of a huge page, and madvise() does not report
 * that. */
static struct hv_err *check_pages(pid_t pid, const struct hv_vma *vma)
{
	char path[96];
	struct statfs of;

	if (!vma->has_file)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		 vma->start, vma->end);
	if (statfs(path, &of) != 0)
		return errno == ENOENT ? changed(pid)
				       : hv_err_new(errno, "%s: %s", path, strerror(errno));
	if (of.f_type != HUGETLBFS_MAGIC)
		return NULL;
	return hv_err_new(ENOTSUP,
			  "the guest's RAM is in huge pages of hugetlbfs, which cannot be"
			  " made coherent with the instruction caches of this host's CPUs");
}

static void parts_deinit(struct parts *p)
{
	free(p->list);
	*p = (struct parts){0};
}

/* Fails with EAGAIN if the mappings do not cover all runs. */
static struct hv_err *find_once(pid_t pid, const struct hv_icache_run *runs, size_t nr,
				struct parts *ret)
{
	HV_AUTO_MAPS struct hv_maps maps = {0};
	struct hv_err *err = hv_maps_read(pid, &maps);
	uint64_t nr_bytes = 0;

	for (size_t at = 0; !err && at < maps.nr; at++) {
		const size_t nr_before = ret->nr;

		for (size_t i = 0; i < nr; i++)
			add_part(ret, &maps.list[at], &runs[i]);
		if (ret->nr > nr_before)
			err = check_pages(pid, &maps.list[at]);
	}
	for (size_t i = 0; i < nr; i++)
		nr_bytes += runs[i].end - runs[i].start;
	return err || ret->nr_bytes == nr_bytes ? err : changed(pid);
}

/* Retries, because the VMM's threads keep running and can change its mappings. */
static struct hv_err *find_parts(pid_t pid, const struct hv_icache_run *runs, size_t nr,
				 struct parts *ret)
{
	struct hv_err *err = NULL;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		hv_err_free(err);
		parts_deinit(ret);
		err = find_once(pid, runs, nr, ret);
		if (!err || err->code != EAGAIN)
			break;
	}
	return err;
}

static struct hv_err *failed(const struct hv_icache_run *run, const char *what, int64_t result)
{
	int code = hv_err_code(-(uint64_t)result);

	return hv_err_new(code,
			  "text at 0x%" PRIx64 " in the VMM cannot be made coherent with"
			  " instruction caches: %s: %s",
			  run->start, what, strerror(code));
}

/* Removes the pages of a shared mapping from the VMM's page tables; the file keeps their contents.
 * *RET_DONE is false if the memory is locked (EINVAL). */
static struct hv_err *take_out(struct hv_keeper *keeper, const struct hv_icache_run *run,
			       bool *ret_done)
{
	struct hv_call call = {.nr = SYS_madvise,
			       .args = {run->start, run->end - run->start, MADV_DONTNEED}};
	struct hv_err *err = hv_keeper_calls(keeper, &call, 1, NULL, 0);

	*ret_done = !err && call.result == 0;
	if (err || *ret_done || call.result == -EINVAL)
		return err;
	return failed(run, "madvise", call.result);
}

/* Makes KVM unmap private memory by changing its protection; take_out() would lose its contents.
 * The first call only adds a permission, so the guest notices nothing if the second one is never
 * made. Changes whole blocks so that no huge page is split. */
static struct hv_err *change_rights(struct hv_keeper *keeper, const struct hv_icache_run *block)
{
	uint64_t len = block->end - block->start;
	struct hv_call calls[] = {
		{.nr = SYS_mprotect,
		 .args = {block->start, len, PROT_READ | PROT_WRITE | PROT_EXEC}},
		{.nr = SYS_mprotect, .args = {block->start, len, PROT_READ | PROT_WRITE}},
	};
	struct hv_err *err = hv_keeper_calls(keeper, calls, HV_ARRAY_LEN(calls), NULL, 0);

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(calls); i++)
		if (calls[i].result < 0)
			err = failed(block, "mprotect", calls[i].result);
	return err;
}

static struct hv_err *unmap(struct hv_keeper *keeper, const struct part *part)
{
	bool done = false;
	struct hv_err *err = part->shared ? take_out(keeper, &part->run, &done) : NULL;

	return err || done ? err : change_rights(keeper, &part->block);
}

struct hv_err *hv_icache_prepare(pid_t pid, struct hv_keeper *keeper,
				 const struct hv_held_writes *writes)
{
	HV_AUTO_FREE struct hv_icache_run *runs = NULL;
	struct parts parts = {0};
	struct hv_err *err = NULL;
	size_t nr;

	if (hv_icache_is_coherent())
		return NULL;
	nr = hv_icache_runs(writes, (uint64_t)sysconf(_SC_PAGESIZE), &runs);
	if (nr)
		err = find_parts(pid, runs, nr, &parts);
	for (size_t i = 0; !err && i < parts.nr; i++)
		err = unmap(keeper, &parts.list[i]);
	parts_deinit(&parts);
	return err;
}
