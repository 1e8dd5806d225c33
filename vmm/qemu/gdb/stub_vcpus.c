/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/gdb/stub_vcpus.h"

#include <stdio.h>
#include <string.h>

#include "vmm/guest.h"

/* Limit for the g packet. No decoder reads registers beyond it. */
#define REGISTERS_MAX_BYTES 4096

#define DESCRIPTION	      "target.xml"
#define DESCRIPTION_MAX_BYTES (1u << 20)
#define NAME_MAX_BYTES	      64
#define NUMBER_MAX	      0xffff /* highest register number */

#define HEX_DIGITS "0123456789abcdefABCDEF"

/* A watchpoint that crosses a page boundary for any page size. Its address is not canonical (bits
 * 52 and 55 differ), so it stops no vCPU even if it is never removed. */
#define WATCHPOINT "2,10000000000000,20000"

static struct hv_err *exchange(struct hv_stub_vcpus *v, const struct hv_packets *packets,
			       struct hv_packets *answers)
{
	struct hv_err *err = v->exchange(v->ctx, packets, answers);

	if (!err && answers->nr != packets->nr)
		err = hv_err_new(EPROTO, "gdb stub: %zu answers for %zu packets", answers->nr,
				 packets->nr);
	return err;
}

/* Sends PACKETS. Each must be answered with "OK". */
static struct hv_err *exchange_ok(struct hv_stub_vcpus *v, const struct hv_packets *packets)
{
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_err *err = exchange(v, packets, &answers);

	return err ? err : hv_packets_all_ok(packets, &answers);
}

/* ---- list of vCPUs ---- */

static void forget(struct hv_stub_vcpus *v)
{
	free(hv_take(v->names));
	v->nr = 0;
}

void hv_stub_vcpus_deinit(struct hv_stub_vcpus *v)
{
	forget(v);
}

/* NAME must not contain characters that end a packet. With multiprocess extensions it looks like
 * "p1.2". */
static void add_name(struct hv_stub_vcpus *v, const char *name, size_t len)
{
	if (!(v->nr & (v->nr - 1))) /* double the capacity */
		v->names = hv_realloc_array(v->names, v->nr ? 2 * v->nr : 1, sizeof(*v->names));
	memset(v->names[v->nr], 0, sizeof(*v->names));
	memcpy(v->names[v->nr++], name, len);
}

/* Adds the names in a list like "m01,02". Returns false if LIST is malformed or too long. */
static bool add_names(struct hv_stub_vcpus *v, const char *list)
{
	if (list[0] != 'm' || !list[1])
		return false;
	for (const char *at = list + 1; *at;) {
		size_t len = strspn(at, HEX_DIGITS "p.");

		if (!len || len >= HV_STUB_NAME_BYTES || v->nr == HV_VCPUS_MAX ||
		    (at[len] && at[len] != ','))
			return false;
		add_name(v, at, len);
		at += len + (at[len] == ',');
	}
	return true;
}

/* Adds the names in the next NR answers, and advances *AT past them. *RET_LAST: the answer "l" has
 * come. */
static struct hv_err *take_names(struct hv_stub_vcpus *v, const char **at, size_t nr,
				 bool *ret_last)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; i < nr; i++) {
		if (!err && !*ret_last) {
			*ret_last = !strcmp(*at, "l");
			if (!*ret_last && !add_names(v, *at))
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

static struct hv_err *ask_next_thread(struct hv_stub_vcpus *v, bool *ret_last)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	const char *at;
	struct hv_err *err;

	hv_packets_add(&packets, "qsThreadInfo");
	err = exchange(v, &packets, &answers);
	at = answers.bytes.data;
	return err ? err : take_names(v, &at, answers.nr, ret_last);
}

/* ---- registers ---- */

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* QEMU sends "xx" for unavailable bytes; they become 0. */
static size_t from_hex(const char *hex, uint8_t *to, size_t room)
{
	size_t nr = 0;

	for (; nr < room && hex[0] && hex[1]; hex += 2, nr++) {
		int high = hex_digit(hex[0]), low = hex_digit(hex[1]);

		to[nr] = high < 0 || low < 0 ? 0 : (uint8_t)(high << 4 | low);
	}
	return nr;
}

static void select_vcpu(const struct hv_stub_vcpus *v, unsigned vcpu, struct hv_packets *packets)
{
	char select[HV_STUB_NAME_BYTES + 2];

	snprintf(select, sizeof(select), "Hg%s", v->names[vcpu]);
	hv_packets_add(packets, select);
}

/* Selects the first vCPU, which cannot be unplugged. When the selected vCPU is unplugged, QEMU
 * keeps a dangling pointer to it (gdbserver_state's g_cpu). */
static void select_first(const struct hv_stub_vcpus *v, struct hv_packets *packets)
{
	select_vcpu(v, 0, packets);
}

/* Adds the NR packets of ASKED for each vCPU. Each vCPU's answers are NR + 1 strings: the first is
 * "OK" for its selection. */
static void add_each(const struct hv_stub_vcpus *v, const char *const *asked, size_t nr,
		     struct hv_packets *packets)
{
	for (unsigned i = 0; i < v->nr; i++) {
		select_vcpu(v, i, packets);
		for (size_t j = 0; j < nr; j++)
			hv_packets_add(packets, asked[j]);
	}
	select_first(v, packets);
}

/* Sends the packets that add_each() builds. */
static struct hv_err *ask_each(struct hv_stub_vcpus *v, const char *const *asked, size_t nr,
			       struct hv_packets *answers)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};

	add_each(v, asked, nr, &packets);
	return exchange(v, &packets, answers);
}

/* Appends the part at offset OFF of the description FILE. *RET_MORE: more parts follow. */
static struct hv_err *read_part(struct hv_stub_vcpus *v, const char *file, size_t off,
				struct hv_text *ret, bool *ret_more)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	const char *answer;
	char packet[2 * NAME_MAX_BYTES];
	struct hv_err *err;

	snprintf(packet, sizeof(packet), "qXfer:features:read:%s:%zx,7f0", file, off);
	hv_packets_add(&packets, packet);
	err = exchange(v, &packets, &answers);
	answer = answers.bytes.data;
	if (err)
		return err;
	*ret_more = answer[0] == 'm' && answer[1];
	if ((answer[0] != 'm' && answer[0] != 'l') || ret->len_bytes > DESCRIPTION_MAX_BYTES)
		return hv_err_new(ENOTSUP, "gdb stub: it has no %s", file);
	hv_text_add(ret, answer + 1);
	return NULL;
}

static struct hv_err *read_description(struct hv_stub_vcpus *v, const char *file,
				       struct hv_text *ret)
{
	size_t start = ret->len_bytes;
	struct hv_err *err = NULL;
	bool more = true;

	while (!err && more)
		err = read_part(v, file, ret->len_bytes - start, ret, &more);
	return err;
}

/* Copies the value of the attribute NAME in TAG, which ends at END. Returns false if it is missing
 * or too long. */
static bool attribute(const char *tag, const char *end, const char *name, char ret[NAME_MAX_BYTES])
{
	char before[NAME_MAX_BYTES];
	const char *at, *quote;

	snprintf(before, sizeof(before), " %s=\"", name);
	at = memmem(tag, (size_t)(end - tag), before, strlen(before));
	if (!at)
		return false;
	at += strlen(before);
	quote = memchr(at, '"', (size_t)(end - at));
	if (!quote || quote - at >= NAME_MAX_BYTES)
		return false;
	memcpy(ret, at, (size_t)(quote - at));
	ret[quote - at] = '\0';
	return true;
}

/* Whether NAME is a file name that can be part of a packet. */
static bool is_file(const char *name)
{
	return name[0] && !strpbrk(name, "#$}*:");
}

/* Finds the first tag that begins with START in [AT, END). *RET_END is its last character. Returns
 * NULL if there is no such tag. */
static const char *find_tag(const char *at, const char *end, const char *start,
			    const char **ret_end)
{
	size_t len = strlen(start);

	for (; at < end && (at = memchr(at, '<', (size_t)(end - at))); at++) {
		if ((size_t)(end - at) < len || memcmp(at, start, len))
			continue;
		*ret_end = memchr(at, '>', (size_t)(end - at));
		return *ret_end ? at : NULL;
	}
	return NULL;
}

/* Appends the descriptions that TARGET includes, in order. */
static struct hv_err *read_included(struct hv_stub_vcpus *v, const struct hv_text *target,
				    struct hv_text *ret)
{
	const char *at = target->data, *end = at + target->len_bytes, *tag, *tag_end;
	struct hv_err *err = NULL;
	char file[NAME_MAX_BYTES];

	for (; !err && (tag = find_tag(at, end, "<xi:include ", &tag_end)); at = tag_end)
		if (attribute(tag, tag_end, "href", file) && is_file(file))
			err = read_description(v, file, ret);
	return err;
}

/* Returns the number of the register NAME, or 0 if the description lacks it. A register without an
 * explicit number follows the previous one. */
static unsigned number_in(const struct hv_text *description, const char *name)
{
	const char *at = description->data, *end = at + description->len_bytes, *tag, *tag_end;
	unsigned long number = 0;
	char text[NAME_MAX_BYTES];

	for (; (tag = find_tag(at, end, "<reg ", &tag_end)); at = tag_end, number++) {
		if (attribute(tag, tag_end, "regnum", text))
			number = strtoul(text, NULL, 10);
		if (number > NUMBER_MAX)
			return 0;
		if (attribute(tag, tag_end, "name", text) && !strcmp(text, name))
			return (unsigned)number;
	}
	return 0;
}

static struct hv_err *find_registers(struct hv_stub_vcpus *v, const struct hv_text *description)
{
	const struct hv_gdb_named *named = v->arch->gdb_named;

	for (unsigned i = 0; named[i].name; i++) {
		v->named_registers[i] = number_in(description, named[i].name);
		if (!v->named_registers[i] && !named[i].may_lack)
			return hv_err_new(ENOTSUP, "gdb stub: its description has no %s",
					  named[i].name);
	}
	return NULL;
}

static struct hv_err *ask_for_description(struct hv_stub_vcpus *v)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};

	hv_packets_add(&packets, "qXfer:features:read:" DESCRIPTION ":0,ffb");
	return exchange(v, &packets, &answers);
}

struct hv_err *hv_stub_vcpus_describe(struct hv_stub_vcpus *v, const struct hv_arch *arch)
{
	HV_AUTO_TEXT struct hv_text target = {0};
	HV_AUTO_TEXT struct hv_text description = {0};
	struct hv_err *err;

	v->arch = arch;
	if (!arch->take_gdb_named)
		return ask_for_description(v);
	err = read_description(v, DESCRIPTION, &target);
	hv_text_add(&description, ""); /* terminates an empty description */
	if (!err)
		err = read_included(v, &target, &description);
	return err ? err : find_registers(v, &description);
}

/* Decodes the 8-byte answer for register NUMBER at *AT, and advances *AT past it. */
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

/* Decodes the registers that are not in the g packet. */
static struct hv_err *take_named(const struct hv_stub_vcpus *v, unsigned vcpu, const char **at,
				 struct hv_vcpu_regs *ret)
{
	uint64_t values[HV_GDB_NAMED_MAX] = {0};
	struct hv_err *err = NULL;

	for (unsigned i = 0; !err && i < HV_GDB_NAMED_MAX; i++)
		if (v->named_registers[i])
			err = take_number(vcpu, v->named_registers[i], at, &values[i]);
	if (!err && v->arch->take_gdb_named)
		v->arch->take_gdb_named(values, ret);
	return err;
}

/* Decodes the answers of one vCPU at *AT, and advances *AT past them. */
static struct hv_err *take_vcpu(const struct hv_stub_vcpus *v, unsigned vcpu, const char **at,
				struct hv_vcpu_regs *ret)
{
	uint8_t g[REGISTERS_MAX_BYTES];
	struct hv_span span = {.data = g, .len_bytes = from_hex(*at, g, sizeof(g))};

	if (!v->arch->decode_gdb_registers(span, ret))
		return hv_err_new(EPROTO,
				  "gdb stub: registers of vCPU %u are not understood (%zu bytes)",
				  vcpu, span.len_bytes);
	*at += strlen(*at) + 1;
	return take_named(v, vcpu, at, ret);
}

struct asked {
	char named[HV_GDB_NAMED_MAX][32];
	const char *packets[1 + HV_GDB_NAMED_MAX];
	size_t nr;
};

static void prepare(const struct hv_stub_vcpus *v, struct asked *ret)
{
	ret->packets[0] = "g";
	ret->nr = 1;
	for (unsigned i = 0; i < HV_GDB_NAMED_MAX; i++) {
		if (!v->named_registers[i])
			continue;
		snprintf(ret->named[i], sizeof(ret->named[i]), "p%x", v->named_registers[i]);
		ret->packets[ret->nr++] = ret->named[i];
	}
}

/* AT is the first answer. */
static struct hv_err *take_registers(const struct hv_stub_vcpus *v, const char *at,
				     struct hv_vcpu_regs *ret)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; !err && i < v->nr; i++) {
		at += strlen(at) + 1;
		err = take_vcpu(v, i, &at, &ret[i]);
	}
	return err;
}

static struct hv_err *read_registers(struct hv_stub_vcpus *v, struct hv_vcpu_regs *ret)
{
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct asked asked;
	struct hv_err *err;

	prepare(v, &asked);
	err = ask_each(v, asked.packets, asked.nr, &answers);
	return err ? err : take_registers(v, answers.bytes.data, ret);
}

/* Whether the list of vCPUs equals that in BEFORE. */
static bool are_those_of(const struct hv_stub_vcpus *v, const struct hv_stub_vcpus *before)
{
	return v->nr == before->nr && !memcmp(v->names, before->names, v->nr * sizeof(*v->names));
}

/* Lists all vCPUs, and queries the vCPUs of the previous list. */
static struct hv_err *list_and_ask(struct hv_stub_vcpus *v, const struct asked *asked,
				   unsigned expected, struct hv_packets *answers)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};

	list_threads(&packets, expected);
	if (v->nr)
		add_each(v, asked->packets, asked->nr, &packets);
	return exchange(v, &packets, answers);
}

/* Reads the list of vCPUs. The NR answers at *AT are its first part. */
static struct hv_err *take_list(struct hv_stub_vcpus *v, const char **at, size_t nr)
{
	bool is_last = false;
	struct hv_err *err = take_names(v, at, nr, &is_last);

	while (!err && !is_last)
		err = ask_next_thread(v, &is_last);
	if (!err && !v->nr)
		err = hv_err_new(EPROTO, "gdb stub: it lists no vCPUs");
	return err;
}

/* The guest is stopped and each exchange waits for the VMM. So this requests the list together with
 * the registers of the previously listed vCPUs: the list rarely changes. */
struct hv_err *hv_stub_vcpus_look(struct hv_stub_vcpus *v, unsigned expected,
				  struct hv_vcpu_regs **ret, unsigned *ret_nr)
{
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	struct hv_stub_vcpus before = {0};
	struct asked asked;
	const char *at;
	bool same;
	struct hv_err *err;

	if (expected > HV_VCPUS_MAX)
		expected = HV_VCPUS_MAX;
	prepare(v, &asked);
	err = list_and_ask(v, &asked, expected, &answers);
	if (err)
		return err;
	before.nr = v->nr;
	before.names = hv_take(v->names);
	v->nr = 0;
	at = answers.bytes.data;
	err = take_list(v, &at, 1 + expected);
	same = !err && are_those_of(v, &before);
	hv_stub_vcpus_deinit(&before);
	if (err) {
		forget(v);
		return err;
	}
	regs = hv_alloc(v->nr * sizeof(*regs));
	err = same ? take_registers(v, at, regs) : read_registers(v, regs);
	if (err)
		return err;
	*ret = hv_take(regs);
	*ret_nr = v->nr;
	return NULL;
}

/* ---- translations ---- */

/* QEMU drops every translation of a vCPU when its page-table root is written, even with an
 * unchanged value (target/i386/helper.c cpu_x86_update_cr3 -> tlb_flush). */
static struct hv_err *rewrite_roots(struct hv_stub_vcpus *v, const struct hv_packets *roots)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	const char *at = roots->bytes.data;

	for (unsigned i = 0; i < v->nr; i++) {
		char packet[96];

		select_vcpu(v, i, &packets);
		at += strlen(at) + 1;
		if (strlen(at) < 8 || strspn(at, HEX_DIGITS) != strlen(at))
			return hv_err_new(
				EPROTO, "gdb stub: the root register of vCPU %u is '%.40s'", i, at);
		snprintf(packet, sizeof(packet), "P%x=%.64s", v->arch->gdb_root_register, at);
		hv_packets_add(&packets, packet);
		at += strlen(at) + 1;
	}
	select_first(v, &packets);
	return exchange_ok(v, &packets);
}

/* QEMU also drops every translation of all vCPUs when a watchpoint is set that crosses a page
 * boundary (cpu_watchpoint_insert -> tlb_flush). No vCPU runs before it is removed. */
static struct hv_err *set_watchpoint(struct hv_stub_vcpus *v)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};

	select_first(v, &packets);
	hv_packets_add(&packets, "Z" WATCHPOINT);
	hv_packets_add(&packets, "z" WATCHPOINT);
	return exchange_ok(v, &packets);
}

struct hv_err *hv_stub_vcpus_flush(struct hv_stub_vcpus *v)
{
	HV_AUTO_PACKETS struct hv_packets roots = {0};
	struct hv_err *err;
	char packet[32];
	const char *const asked[] = {packet};

	if (!v->nr)
		return hv_err_new(EPROTO, "gdb stub: no vCPUs were listed");
	if (v->arch->take_gdb_named)
		return set_watchpoint(v);
	snprintf(packet, sizeof(packet), "p%x", v->arch->gdb_root_register);
	err = ask_each(v, asked, HV_ARRAY_LEN(asked), &roots);
	return err ? err : rewrite_roots(v, &roots);
}
