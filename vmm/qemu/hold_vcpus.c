/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vCPUs by the gdb stub, under a hold: how many there are, their registers, their cached
 * translations. Leaves to others: the hold itself, writing text (hold.c). */
#include <stdio.h>
#include <string.h>

#include "vmm/qemu/machine.h"

#define ANSWER_MAX_BYTES 65536
#define VCPUS_MAX	 4096

#define DESCRIPTION	      "target.xml"
#define DESCRIPTION_MAX_BYTES (1u << 20)
#define NAME_MAX_BYTES	      64

/* A watchpoint across pages, of whatever size they have. No page tables can map its address, whose
 * bits 52 and 55 differ, so it stops no vCPU even if nobody takes it away. */
#define WATCHPOINT "2,10000000000000,20000"

/* ---- which ---- */

void hv_machine_forget_threads(struct hv_machine *m)
{
	for (unsigned i = 0; m->threads && i < m->nr_threads; i++)
		free(m->threads[i]);
	free(hv_take(m->threads));
	m->nr_threads = 0;
}

/* Adds the names of a list like "m01,02". False: LIST is not such a list, or there are too many. */
static bool add_threads(struct hv_machine *m, const char *list)
{
	if (list[0] != 'm' || !list[1])
		return false;
	for (const char *at = list + 1; *at;) {
		size_t len = strcspn(at, ",");
		char *name;

		if (!len || m->nr_threads == VCPUS_MAX)
			return false;
		name = strndup(at, len);
		if (!name)
			abort();
		m->threads = hv_realloc_array(m->threads, m->nr_threads + 1, sizeof(*m->threads));
		m->threads[m->nr_threads++] = name;
		at += len + (at[len] == ',');
	}
	return true;
}

/* QEMU names one thread in each answer, and answers "l" after the last one. So it is asked once for
 * each vCPU of the last hold and once more, which is nearly always enough. *RET_LAST: "l" has come.
 */
static struct hv_err *ask_threads(struct hv_machine *m, const char *first, unsigned nr,
				  bool *ret_last)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	const char *answer;
	struct hv_err *err;

	hv_packets_add(&packets, first);
	for (unsigned i = 0; i < nr; i++)
		hv_packets_add(&packets, "qsThreadInfo");
	err = hv_guardian_exchange(m->guardian, &packets, &answers);
	answer = answers.bytes.data;
	for (size_t i = 0; !err && i < answers.nr && !*ret_last; i++) {
		*ret_last = !strcmp(answer, "l");
		if (!*ret_last && !add_threads(m, answer))
			err = hv_err_new(EPROTO, "gdb stub: '%.40s' is not a list of vCPUs",
					 answer);
		answer += strlen(answer) + 1;
	}
	return err;
}

struct hv_err *hv_machine_count_threads(struct hv_machine *m)
{
	unsigned nr = m->nr_vcpus;
	bool is_last = false;
	struct hv_err *err;

	hv_machine_forget_threads(m);
	err = ask_threads(m, "qfThreadInfo", nr, &is_last);
	while (!err && !is_last)
		err = ask_threads(m, "qsThreadInfo", 1, &is_last);
	if (!err && !m->nr_threads)
		err = hv_err_new(EPROTO, "gdb stub: it lists no vCPUs");
	if (!err)
		m->nr_vcpus = m->nr_threads;
	return err;
}

/* ---- registers ---- */

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* QEMU writes "xx" for bytes that it does not have; they become 0. */
static size_t from_hex(const char *hex, uint8_t *to, size_t room)
{
	size_t nr = 0;

	for (; hex[0] && hex[1] && nr < room; hex += 2, nr++) {
		int high = hex_digit(hex[0]), low = hex_digit(hex[1]);

		to[nr] = high < 0 || low < 0 ? 0 : (uint8_t)(high << 4 | low);
	}
	return nr;
}

/* Selects the first vCPU, which cannot be unplugged. When the selected vCPU is unplugged, QEMU
 * keeps a dangling pointer to it (gdbserver_state's g_cpu). */
static void select_first(const struct hv_machine *m, struct hv_packets *packets)
{
	char select[64];

	snprintf(select, sizeof(select), "Hg%.48s", m->threads[0]);
	hv_packets_add(packets, select);
}

/* Asks each vCPU with NR PACKETS, all in one exchange: to ask somebody through so many processes
 * takes longer than to answer. ANSWERS gets NR + 1 strings for each vCPU: "OK" for its selection,
 * and its answers. */
static struct hv_err *ask_each(struct hv_machine *m, const char *const *asked, size_t nr,
			       struct hv_packets *answers)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	struct hv_err *err;

	for (unsigned i = 0; i < m->nr_vcpus; i++) {
		char select[64];

		snprintf(select, sizeof(select), "Hg%.48s", m->threads[i]);
		hv_packets_add(&packets, select);
		for (size_t j = 0; j < nr; j++)
			hv_packets_add(&packets, asked[j]);
	}
	select_first(m, &packets);
	err = hv_guardian_exchange(m->guardian, &packets, answers);
	if (!err && answers->nr != packets.nr)
		return hv_err_new(EPROTO, "gdb stub: %zu answers for %zu packets", answers->nr,
				  packets.nr);
	return err;
}

/* Appends the next part of the description FILE, of which OFF bytes were read. *RET_MORE: it is not
 * the last one. */
static struct hv_err *read_part(struct hv_machine *m, const char *file, size_t off,
				struct hv_text *ret, bool *ret_more)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	const char *answer;
	char packet[2 * NAME_MAX_BYTES];
	struct hv_err *err;

	snprintf(packet, sizeof(packet), "qXfer:features:read:%s:%zx,7f0", file, off);
	hv_packets_add(&packets, packet);
	err = hv_guardian_exchange(m->guardian, &packets, &answers);
	answer = answers.bytes.data;
	if (err)
		return err;
	*ret_more = answer[0] == 'm' && answer[1];
	if ((answer[0] != 'm' && answer[0] != 'l') || ret->len_bytes > DESCRIPTION_MAX_BYTES)
		return hv_err_new(ENOTSUP, "gdb stub: it has no %s", file);
	hv_text_add(ret, answer + 1);
	return NULL;
}

static struct hv_err *read_description(struct hv_machine *m, const char *file, struct hv_text *ret)
{
	size_t start = ret->len_bytes;
	struct hv_err *err = NULL;
	bool more = true;

	while (!err && more)
		err = read_part(m, file, ret->len_bytes - start, ret, &more);
	return err;
}

/* The value of the attribute NAME in TAG, which ends at END. False: it has none, or it is long. */
static bool attribute(const char *tag, const char *end, const char *name, char ret[NAME_MAX_BYTES])
{
	char before[NAME_MAX_BYTES];
	const char *at, *quote;

	snprintf(before, sizeof(before), " %s=\"", name);
	at = strstr(tag, before);
	if (!at || at > end)
		return false;
	at += strlen(before);
	quote = strchr(at, '"');
	if (!quote || quote > end || quote - at >= NAME_MAX_BYTES)
		return false;
	memcpy(ret, at, (size_t)(quote - at));
	ret[quote - at] = '\0';
	return true;
}

/* Appends the descriptions that TARGET includes, in their order. */
static struct hv_err *read_included(struct hv_machine *m, const char *target, struct hv_text *ret)
{
	struct hv_err *err = NULL;
	char file[NAME_MAX_BYTES];

	for (const char *tag = target; !err && tag && (tag = strstr(tag, "<xi:include "));) {
		const char *end = strchr(tag, '>');

		if (end && attribute(tag, end, "href", file))
			err = read_description(m, file, ret);
		tag = end;
	}
	return err;
}

/* The number of the register NAME. A register without a number of its own has the one after the
 * register before it. 0: it is not in the description. */
static unsigned number_in(const char *description, const char *name)
{
	unsigned number = 0;

	for (const char *tag = description; tag && (tag = strstr(tag, "<reg "));) {
		const char *end = strchr(tag, '>');
		char text[NAME_MAX_BYTES];

		if (end && attribute(tag, end, "regnum", text))
			sscanf(text, "%u", &number);
		if (end && attribute(tag, end, "name", text) && !strcmp(text, name))
			return number;
		number++;
		tag = end;
	}
	return 0;
}

/* NAME may be NULL: then *RET is 0. */
static struct hv_err *find_register(const char *description, const char *name, unsigned *ret)
{
	*ret = name ? number_in(description, name) : 0;
	return !name || *ret ? NULL
			     : hv_err_new(ENOTSUP, "gdb stub: its description has no %s", name);
}

struct hv_err *hv_machine_find_root(struct hv_machine *m)
{
	HV_AUTO_TEXT struct hv_text target = {0};
	HV_AUTO_TEXT struct hv_text description = {0};
	struct hv_err *err;

	m->root_register = m->arch->gdb_root_register;
	if (!m->arch->gdb_root_name)
		return NULL;
	err = read_description(m, DESCRIPTION, &target);
	if (!err)
		err = read_included(m, target.data, &description);
	if (!err)
		err = find_register(description.data, m->arch->gdb_root_name, &m->root_register);
	if (!err)
		err = find_register(description.data, m->arch->gdb_mode_name, &m->mode_register);
	return err;
}

/* *AT is the answer to a question for register NUMBER of a vCPU, of 8 bytes; then the next one. */
static struct hv_err *take_number(unsigned vcpu, unsigned number, const char **at, uint64_t *ret)
{
	uint8_t bytes[sizeof(*ret)];

	if (strlen(*at) != 2 * sizeof(bytes) ||
	    from_hex(*at, bytes, sizeof(bytes)) != sizeof(bytes))
		return hv_err_new(EPROTO, "gdb stub: register %u of vCPU %u is '%.40s'", number,
				  vcpu, *at);
	memcpy(ret, bytes, sizeof(bytes));
	*at += strlen(*at) + 1;
	return NULL;
}

/* What the g packet does not tell. A vCPU without page tables was never started: its firmware has
 * interrupted nothing. */
static struct hv_err *take_named(const struct hv_machine *m, unsigned vcpu, const char **at,
				 struct hv_vcpu_regs *ret)
{
	const struct hv_arch *arch = m->arch;
	struct hv_gpa roots[2];
	uint64_t mode = 0;
	struct hv_err *err = NULL;

	if (!arch->gdb_root_name)
		return NULL;
	err = take_number(vcpu, m->root_register, at, &ret->root);
	if (!err && arch->levels_of_root)
		ret->levels = arch->levels_of_root(ret->root);
	if (err || !arch->gdb_mode_name)
		return err;
	err = take_number(vcpu, m->mode_register, at, &mode);
	if (!err && mode == arch->gdb_firmware_mode && arch->roots(ret, roots))
		ret->firmware = HV_FIRMWARE_YES;
	return err;
}

/* *AT is the answer to the g packet of a vCPU, and what else it was asked for; then what follows.
 */
static struct hv_err *take_vcpu(const struct hv_machine *m, unsigned vcpu, const char **at,
				struct hv_vcpu_regs *ret)
{
	HV_AUTO_FREE uint8_t *g = hv_alloc(ANSWER_MAX_BYTES);
	struct hv_span span = {.data = g, .len_bytes = from_hex(*at, g, ANSWER_MAX_BYTES)};

	if (!m->arch->decode_gdb_registers(span, ret))
		return hv_err_new(EPROTO,
				  "gdb stub: registers of vCPU %u are not understood (%zu bytes)",
				  vcpu, span.len_bytes);
	*at += strlen(*at) + 1;
	return take_named(m, vcpu, at, ret);
}

static struct hv_err *read_registers(struct hv_machine *m, struct hv_vcpu_regs *ret)
{
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	char root[32], mode[32];
	const char *const asked[] = {"g", root, mode};
	size_t nr = 1 + !!m->arch->gdb_root_name + !!m->arch->gdb_mode_name;
	const char *at;
	struct hv_err *err;

	snprintf(root, sizeof(root), "p%x", m->root_register);
	snprintf(mode, sizeof(mode), "p%x", m->mode_register);
	err = ask_each(m, asked, nr, &answers);
	at = answers.bytes.data;
	for (unsigned i = 0; !err && i < m->nr_vcpus; i++) {
		at += strlen(at) + 1;
		err = take_vcpu(m, i, &at, &ret[i]);
	}
	return err;
}

struct hv_err *hv_machine_hold_registers(struct hv_machine *m, struct hv_vcpu_regs *ret)
{
	if (!m->held_regs)
		return read_registers(m, ret);
	memcpy(ret, m->held_regs, m->nr_vcpus * sizeof(*ret));
	return NULL;
}

/* ---- translations ---- */

/* QEMU drops every translation of a vCPU when its page-table root is written, also with the same
 * value (target/i386/helper.c cpu_x86_update_cr3 -> tlb_flush). */
static struct hv_err *rewrite_roots(struct hv_machine *m, const struct hv_packets *roots)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	const char *at = roots->bytes.data;
	struct hv_err *err;

	for (unsigned i = 0; i < m->nr_vcpus; i++) {
		char packet[96];

		snprintf(packet, sizeof(packet), "Hg%.48s", m->threads[i]);
		hv_packets_add(&packets, packet);
		at += strlen(at) + 1;
		if (strlen(at) < 8 || strspn(at, "0123456789abcdefABCDEF") != strlen(at))
			return hv_err_new(
				EPROTO, "gdb stub: the root register of vCPU %u is '%.40s'", i, at);
		snprintf(packet, sizeof(packet), "P%x=%.64s", m->arch->gdb_root_register, at);
		hv_packets_add(&packets, packet);
		at += strlen(at) + 1;
	}
	select_first(m, &packets);
	err = hv_guardian_exchange(m->guardian, &packets, &answers);
	return err ? err : hv_packets_all_ok(&packets, &answers);
}

/* QEMU also drops every translation of all vCPUs when a watchpoint is set that is in more than one
 * page (cpu_watchpoint_insert -> tlb_flush). No vCPU runs before it is removed. */
static struct hv_err *set_watchpoint(struct hv_machine *m)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_err *err;

	select_first(m, &packets);
	hv_packets_add(&packets, "Z" WATCHPOINT);
	hv_packets_add(&packets, "z" WATCHPOINT);
	err = hv_guardian_exchange(m->guardian, &packets, &answers);
	return err ? err : hv_packets_all_ok(&packets, &answers);
}

struct hv_err *hv_machine_hold_flush(struct hv_machine *m, uint64_t off, uint64_t len_bytes)
{
	HV_AUTO_PACKETS struct hv_packets roots = {0};
	struct hv_err *err;
	char packet[32];
	const char *const asked[] = {packet};

	if (m->accel == HV_ACCEL_KVM)
		return hv_machine_remap_region(m, off, len_bytes);
	if (m->arch->gdb_root_name)
		return set_watchpoint(m);
	snprintf(packet, sizeof(packet), "p%x", m->arch->gdb_root_register);
	err = ask_each(m, asked, HV_ARRAY_LEN(asked), &roots);
	return err ? err : rewrite_roots(m, &roots);
}
