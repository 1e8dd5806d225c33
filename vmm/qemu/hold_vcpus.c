/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vCPUs by the gdb stub, under a hold: how many there are, their registers, their cached
 * translations. Leaves to others: the hold itself, writing text (hold.c). */
#include <stdio.h>
#include <string.h>

#include "vmm/qemu/machine.h"

#define ANSWER_MAX_BYTES 65536

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

		if (!len || m->nr_threads == HV_VCPUS_MAX)
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

/* Takes the list from NR of the answers at *AT, and passes over these. *RET_LAST: "l" has come. */
static struct hv_err *take_threads(struct hv_machine *m, const char **at, size_t nr, bool *ret_last)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; i < nr; i++) {
		if (!err && !*ret_last) {
			*ret_last = !strcmp(*at, "l");
			if (!*ret_last && !add_threads(m, *at))
				err = hv_err_new(EPROTO, "gdb stub: '%.40s' is not a list of vCPUs",
						 *at);
		}
		*at += strlen(*at) + 1;
	}
	return err;
}

/* QEMU names one thread in each answer, and answers "l" after the last one. */
static void list_threads(struct hv_packets *packets, unsigned nr)
{
	hv_packets_add(packets, "qfThreadInfo");
	for (unsigned i = 0; i < nr; i++)
		hv_packets_add(packets, "qsThreadInfo");
}

static struct hv_err *ask_next_thread(struct hv_machine *m, bool *ret_last)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	const char *at;
	struct hv_err *err;

	hv_packets_add(&packets, "qsThreadInfo");
	err = hv_guardian_exchange(m->guardian, &packets, &answers);
	at = answers.bytes.data;
	return err ? err : take_threads(m, &at, answers.nr, ret_last);
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

/* Adds NR packets for each vCPU. The answers are NR + 1 strings for each: "OK" for its selection,
 * and its answers. */
static void add_each(const struct hv_machine *m, const char *const *asked, size_t nr,
		     struct hv_packets *packets)
{
	for (unsigned i = 0; i < m->nr_threads; i++) {
		char select[64];

		snprintf(select, sizeof(select), "Hg%.48s", m->threads[i]);
		hv_packets_add(packets, select);
		for (size_t j = 0; j < nr; j++)
			hv_packets_add(packets, asked[j]);
	}
	select_first(m, packets);
}

/* Asks each vCPU (add_each). */
static struct hv_err *ask_each(struct hv_machine *m, const char *const *asked, size_t nr,
			       struct hv_packets *answers)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	struct hv_err *err;

	add_each(m, asked, nr, &packets);
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

static struct hv_err *find_registers(struct hv_machine *m, const char *description)
{
	const struct hv_gdb_named *named = m->arch->gdb_named;

	for (unsigned i = 0; named[i].name; i++) {
		m->named_registers[i] = number_in(description, named[i].name);
		if (!m->named_registers[i] && !named[i].may_lack)
			return hv_err_new(ENOTSUP, "gdb stub: its description has no %s",
					  named[i].name);
	}
	return NULL;
}

struct hv_err *hv_machine_find_registers(struct hv_machine *m)
{
	HV_AUTO_TEXT struct hv_text target = {0};
	HV_AUTO_TEXT struct hv_text description = {0};
	struct hv_err *err;

	if (!m->arch->take_gdb_named)
		return NULL;
	err = read_description(m, DESCRIPTION, &target);
	if (!err)
		err = read_included(m, target.data, &description);
	return err ? err : find_registers(m, description.data);
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

/* What the g packet does not tell. */
static struct hv_err *take_named(const struct hv_machine *m, unsigned vcpu, const char **at,
				 struct hv_vcpu_regs *ret)
{
	uint64_t values[HV_GDB_NAMED_MAX] = {0};
	struct hv_err *err = NULL;

	for (unsigned i = 0; !err && i < HV_GDB_NAMED_MAX; i++)
		if (m->named_registers[i])
			err = take_number(vcpu, m->named_registers[i], at, &values[i]);
	if (!err && m->arch->take_gdb_named)
		m->arch->take_gdb_named(values, ret);
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

/* What each vCPU is asked. */
struct asked {
	char named[HV_GDB_NAMED_MAX][32];
	const char *packets[1 + HV_GDB_NAMED_MAX];
	size_t nr;
};

static void prepare(const struct hv_machine *m, struct asked *ret)
{
	ret->packets[0] = "g";
	ret->nr = 1;
	for (unsigned i = 0; i < HV_GDB_NAMED_MAX; i++) {
		if (!m->named_registers[i])
			continue;
		snprintf(ret->named[i], sizeof(ret->named[i]), "p%x", m->named_registers[i]);
		ret->packets[ret->nr++] = ret->named[i];
	}
}

/* AT is the first of the answers. */
static struct hv_err *take_registers(const struct hv_machine *m, const char *at,
				     struct hv_vcpu_regs *ret)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; !err && i < m->nr_vcpus; i++) {
		at += strlen(at) + 1;
		err = take_vcpu(m, i, &at, &ret[i]);
	}
	return err;
}

static struct hv_err *read_registers(struct hv_machine *m, struct hv_vcpu_regs *ret)
{
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct asked asked;
	struct hv_err *err;

	prepare(m, &asked);
	err = ask_each(m, asked.packets, asked.nr, &answers);
	return err ? err : take_registers(m, answers.bytes.data, ret);
}

/* Whether the vCPUs are those of KNOWN. */
static bool are_known(const struct hv_machine *m, char *const *known, unsigned nr)
{
	bool same = nr == m->nr_threads;

	for (unsigned i = 0; same && i < nr; i++)
		same = !strcmp(known[i], m->threads[i]);
	return same;
}

/* Lists all vCPUs, and asks those of the last hold. */
static struct hv_err *list_and_ask(struct hv_machine *m, const struct asked *asked,
				   struct hv_packets *answers)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	struct hv_err *err;

	list_threads(&packets, m->nr_vcpus);
	if (m->nr_threads)
		add_each(m, asked->packets, asked->nr, &packets);
	err = hv_guardian_exchange(m->guardian, &packets, answers);
	if (!err && answers->nr != packets.nr)
		err = hv_err_new(EPROTO, "gdb stub: %zu answers for %zu packets", answers->nr,
				 packets.nr);
	return err;
}

/* The list of vCPUs, of which NR answers at *AT are the first part. */
static struct hv_err *take_list(struct hv_machine *m, const char **at, size_t nr)
{
	bool is_last = false;
	struct hv_err *err = take_threads(m, at, nr, &is_last);

	while (!err && !is_last)
		err = ask_next_thread(m, &is_last);
	if (!err && !m->nr_threads)
		err = hv_err_new(EPROTO, "gdb stub: it lists no vCPUs");
	return err;
}

/* To ask somebody through so many processes takes longer than to answer, and the guest waits. So
 * the vCPUs of the last hold are asked for their registers together with the list of all, which is
 * nearly always the same. */
struct hv_err *hv_machine_hold_look(struct hv_machine *m, struct hv_vcpu_regs **ret)
{
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	struct hv_machine before = {.nr_threads = m->nr_threads};
	struct asked asked;
	const char *at;
	bool same;
	struct hv_err *err;

	prepare(m, &asked);
	err = list_and_ask(m, &asked, &answers);
	if (err)
		return err;
	before.threads = hv_take(m->threads);
	m->nr_threads = 0;
	at = answers.bytes.data;
	err = take_list(m, &at, 1 + m->nr_vcpus);
	same = are_known(m, before.threads, before.nr_threads);
	hv_machine_forget_threads(&before);
	if (err)
		return err;
	m->nr_vcpus = m->nr_threads;
	regs = hv_alloc(m->nr_vcpus * sizeof(*regs));
	err = same ? take_registers(m, at, regs) : read_registers(m, regs);
	if (!err)
		*ret = hv_take(regs);
	return err;
}

struct hv_err *hv_machine_hold_registers(struct hv_machine *m, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_err *err = hv_vcpus_check_room(m->nr_vcpus, nr);

	if (!err && !m->held_regs)
		return read_registers(m, ret);
	if (!err)
		memcpy(ret, m->held_regs, nr * sizeof(*ret));
	return err;
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
	if (m->arch->take_gdb_named)
		return set_watchpoint(m);
	snprintf(packet, sizeof(packet), "p%x", m->arch->gdb_root_register);
	err = ask_each(m, asked, HV_ARRAY_LEN(asked), &roots);
	return err ? err : rewrite_roots(m, &roots);
}
