/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a known profile in the formats of `hvtrace profile -o` that other programs read.
 *
 *       make_profiles DIR     DIR/samples.pb.gz, DIR/time.pb.gz (nanoseconds), DIR/samples.pftrace */
#include <stdio.h>

#include "base/guard.h"
#include "profile/perfetto.h"
#include "profile/pprof.h"

#define MS 500000u

static uint32_t child(struct hv_chains *c, uint32_t parent, enum hv_chain_kind kind, uint32_t file,
		      uint64_t value, const char *name)
{
	uint32_t frame = 0, node = 0;

	if (kind == HV_CHAIN_GROUP)
		hv_chains_group(c, name, &frame);
	else
		hv_chains_frame(c, kind, file, value, &frame);
	if (!c->frames[frame].name)
		hv_chains_name(c, frame, hv_strdup(name));
	hv_chains_child(c, parent, frame, &node);
	return node;
}

static void hit(struct hv_chains *c, uint32_t parent, enum hv_chain_kind kind, uint32_t file,
		uint64_t value, const char *name, uint64_t nr)
{
	uint32_t node = child(c, parent, kind, file, value, name);

	c->nodes[node].self = nr;
}

/* EACH: the value of one sample. */
static void make(struct hv_chains *c, uint64_t each)
{
	uint32_t cpu = child(c, HV_CHAINS_ROOT, HV_CHAIN_GROUP, 0, 0, "vCPU 0");
	uint32_t a = child(c, cpu, HV_CHAIN_GROUP, 0, 0, "a");
	uint32_t main = child(c, a, HV_CHAIN_USER, 1, 0x10, "main");
	uint32_t right = child(c, main, HV_CHAIN_USER, 1, 0x40, "right");

	hit(c, main, HV_CHAIN_USER, 1, 0x20, "left", 3 * each);
	hit(c, main, HV_CHAIN_USER, 1, 0x24, "left", 2 * each);
	hit(c, right, HV_CHAIN_KERNEL, 0, 0xffffffff81000000, "vfs_read", each);
	hit(c, main, HV_CHAIN_USER, 2, 0x24, "\033|\xff", 2 * each);
	c->nodes[right].self = 3 * each;
}

static int write_file(const char *dir, const char *name, const struct hv_text *text)
{
	HV_AUTO_FREE char *path = hv_format("%s/%s", dir, name);
	FILE *file = fopen(path, "w");

	if (!file || fwrite(text->data, 1, text->len_bytes, file) != text->len_bytes)
		return 1;
	return fclose(file) != 0;
}

static const struct hv_pprof_file files[] = {{"/usr/bin/a", "b0b1b2b3", 0x5000},
					     {"[anonymous memory]", "", 0}};
static const struct hv_pprof profile = {files, HV_ARRAY_LEN(files), 2,
					UINT64_C(1700000000000000000), UINT64_C(10000000000)};

static int write_pprof(const char *dir, const char *name, const struct hv_chains *c)
{
	HV_AUTO_TEXT struct hv_text out = {0};

	return !hv_pprof_write(c, &profile, SIZE_MAX, &out) || write_file(dir, name, &out);
}

static const char *comm(const struct hv_chains *c, uint32_t node)
{
	return c->nodes[node].self ? "a" : "?";
}

/* Writes a sample per chain of C, but two for the first, at intervals of 1 us, on vCPU 1. */
static int write_perfetto(const char *dir, const char *name, const struct hv_chains *c)
{
	struct hv_flame_sample samples[16] = {{0}};
	HV_AUTO_TEXT struct hv_text out = {0};
	size_t nr = 1;

	for (uint32_t i = 0; i < c->nr; i++)
		if (c->nodes[i].self)
			samples[nr++].node = i;
	samples[0].node = samples[1].node;
	for (size_t i = 0; i < nr; i++) {
		samples[i].time_ns = 1000 * (i + 1);
		samples[i].pid = 7;
		samples[i].cpu = 1;
	}
	return !hv_flame_perfetto(c, samples, nr, &profile, comm, SIZE_MAX, &out) ||
	       write_file(dir, name, &out);
}

int main(int argc, char **argv)
{
	hv_cleanup(hv_chains_deinit) struct hv_chains samples = {0};
	hv_cleanup(hv_chains_deinit) struct hv_chains times = {.unit = HV_CHAIN_NS};

	if (argc != 2)
		return 2;
	make(&samples, 1);
	make(&times, MS);
	return write_pprof(argv[1], "samples.pb.gz", &samples) |
	       write_pprof(argv[1], "time.pb.gz", &times) |
	       write_perfetto(argv[1], "samples.pftrace", &samples);
}
