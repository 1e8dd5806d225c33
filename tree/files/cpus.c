/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vCPUs: directories with an entry for each, and tracing_cpumask. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/prefix.h"
#include "tree/files/files.h"
#include "tree/instance/trace.h"

/* -- entries of directories -------------------------------------------------------------------- */

bool hv_cpu_name(const struct hv_path *dir, const char *word, size_t index, struct hv_text *ret)
{
	if (index >= hv_instances_nr_cpus(hv_instance_all(dir->instance)))
		return false;
	hv_text_printf(ret, "%s%zu", word, index);
	return true;
}

/* "cpu7" is a name; "cpu07" and "cpu+7" are not. */
bool hv_cpu_find(struct hv_path *at, const char *word, const char *name)
{
	const char *number = hv_after_prefix(name, word);
	HV_AUTO_TEXT struct hv_text want = {0};
	unsigned long cpu;

	if (!number)
		return false;
	cpu = strtoul(number, NULL, 10);
	if (!hv_cpu_name(at, word, cpu, &want) || strcmp(want.data, name) != 0)
		return false;
	at->cpu = (int)cpu;
	return true;
}

static bool per_cpu_name(const struct hv_path *dir, size_t index, struct hv_text *ret)
{
	return hv_cpu_name(dir, "cpu", index, ret);
}

static bool find_per_cpu(struct hv_path *at, const char *name)
{
	return hv_cpu_find(at, "cpu", name);
}

const struct hv_entries hv_per_cpu_entries = {
	.shown_as = "cpuN",
	.name = per_cpu_name,
	.find = find_per_cpu,
};

/* -- tracing_cpumask --------------------------------------------------------------------------- */

#define CHUNK_BITS 32 /* between two commas */
#define DIGIT_BITS 4

static bool is_chosen(const struct hv_file *f, unsigned cpu)
{
	const struct hv_instance *in = f->at.instance;

	return cpu < hv_instances_nr_cpus(hv_instance_all(in)) &&
	       !hv_instance_selection(in)->muted[cpu];
}

/* Like the kernel's %*pb: the first group has as many digits as the vCPUs need. */
static void show_cpumask(struct hv_file *f)
{
	unsigned nr = hv_instances_nr_cpus(hv_file_instances(f)),
		 left = (nr + CHUNK_BITS - 1) / CHUNK_BITS;
	unsigned bits = nr % CHUNK_BITS ? nr % CHUNK_BITS : CHUNK_BITS;

	for (; left; left--, bits = CHUNK_BITS) {
		unsigned first = (left - 1) * CHUNK_BITS;
		uint32_t chunk = 0;

		for (unsigned i = 0; i < CHUNK_BITS; i++)
			chunk |= (uint32_t)is_chosen(f, first + i) << i;
		hv_text_printf(&f->text, "%0*" PRIx32 "%s",
			       (int)((bits + DIGIT_BITS - 1) / DIGIT_BITS), chunk,
			       left > 1 ? "," : "\n");
	}
}

static bool is_between(char c)
{
	return isspace((unsigned char)c) || c == ',';
}

/* Parses one group of digits backwards from *END, which moves to its first digit. */
static struct hv_err *take_chunk(const char *text, size_t *end, uint32_t *ret)
{
	unsigned shift = 0;

	for (; *end && !is_between(text[*end - 1]); --*end, shift += DIGIT_BITS) {
		char digit[2] = {text[*end - 1]};

		if (!isxdigit((unsigned char)digit[0]))
			return hv_err_new(EINVAL, "a mask has only hexadecimal digits and commas");
		if (shift >= CHUNK_BITS)
			return hv_err_new(EOVERFLOW,
					  "the mask has more than 8 digits between commas");
		*ret |= (uint32_t)strtoul(digit, NULL, 16) << shift;
	}
	return NULL;
}

/* Parses a mask up to a newline. Missing digits are 0 (bitmap_parse). RET_MUTED has a byte per
 * vCPU. */
static struct hv_err *parse(const char *text, size_t len, unsigned nr_cpus, uint8_t *ret_muted)
{
	const char *newline = memchr(text, '\n', len);
	size_t end = newline ? (size_t)(newline - text) : len;
	unsigned first = 0;

	memset(ret_muted, 1, nr_cpus);
	for (;; first += CHUNK_BITS) {
		uint32_t chunk = 0;
		struct hv_err *err;

		while (end && is_between(text[end - 1]))
			end--;
		if (!end)
			return NULL;
		if (first >= nr_cpus)
			return hv_err_new(EOVERFLOW, "the mask has more digits than %u vCPUs need",
					  nr_cpus);
		err = take_chunk(text, &end, &chunk);
		if (err)
			return err;
		for (unsigned i = 0; i < CHUNK_BITS; i++) {
			if (!(chunk >> i & 1))
				continue;
			if (first + i >= nr_cpus)
				return hv_err_new(EOVERFLOW, "there is no vCPU %u", first + i);
			ret_muted[first + i] = 0;
		}
	}
}

static struct hv_err *write_cpumask(struct hv_file *f, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	unsigned nr = hv_instances_nr_cpus(hv_file_instances(f));
	HV_AUTO_FREE uint8_t *muted = hv_alloc(nr);
	size_t len = strnlen(buf, len_bytes);
	struct hv_err *err = parse(buf, len, nr, muted);

	if (err)
		return err;
	hv_instance_set_muted(f->at.instance, muted);
	*ret_len = len_bytes;
	return NULL;
}

const struct hv_node hv_cpumask_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "the vCPUs that are recorded, as a hexadecimal mask",
	.show = show_cpumask,
	.write = write_cpumask,
};
