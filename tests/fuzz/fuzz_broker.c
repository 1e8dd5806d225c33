/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives the privileged side of a session between a hostile service and a fake guest. A program in
 * the guest and the guest's kernel change memory in between. The input is a list of acts.
 * Afterwards, every byte of guest memory must be as the rules allow (broker_oracle.h). */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "tests/fuzz/broker_oracle.h"
#include "vmm/broker/server.h"
#include "vmm/broker/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum act {
	ASK,	 /* any request */
	WRITE,	 /* a list of writes, made from the following records */
	BEGIN,	 /* a hold */
	END,	 /* a hold */
	MAP,	 /* maps the region, in a hold */
	REGION,	 /* the service writes into it */
	PROGRAM, /* a program in the guest writes to its memory */
	KERNEL,	 /* the guest's kernel changes one of its words or sites */
	VCPU,	 /* a vCPU moves to another address */
	FAILURE, /* the hold times out during the next list */
	NR_ACTS
};

struct record {
	uint8_t act, a, b, c;
	uint32_t d;
	uint64_t e;
};

static struct hv_guest *guest;
static int ends[2];
static uint8_t *fresh; /* RAM at the start */
static bool is_vmm_hostile;

static const uint8_t nop[LEN_X86] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

/* The guest. */

static void put_word(uint8_t *ram, uint64_t gpa, uint64_t word)
{
	memcpy(ram + gpa, &word, sizeof(word));
}

static void put_branch(uint8_t *ram, uint64_t gpa, uint8_t opcode, uint64_t target)
{
	uint32_t distance = (uint32_t)(target - (SMALL_TEXT + gpa + LEN_X86));

	ram[gpa] = opcode;
	memcpy(ram + gpa + 1, &distance, sizeof(distance));
}

/* Fills the sites: unused ones, calls and jumps of the kernel, and other instructions. */
static void fill_sites(uint8_t *ram)
{
	static const uint8_t other[8] = {0x65, 0xff, 0x05, 1, 2, 3, 4, 0x90};

	for (unsigned i = 0; i < SITES; i++) {
		memset(ram + SITE_AT(i), 0x90, 32);
		if (i % 4 < 2)
			memcpy(ram + SITE_AT(i), nop, LEN_X86);
		else if (i % 4 == 2)
			put_branch(ram, SITE_AT(i), i % 8 == 2 ? 0xe8 : 0xe9, SMALL_TEXT + 0x4000);
		else
			memcpy(ram + SITE_AT(i), other, sizeof(other));
	}
}

static void open_once(void)
{
	if (guest)
		return;
	guest = small_guest_open(&small);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
		abort();
	fill_sites(small.ram);
	small_entry_of(&small, SMALL_WINDOW);
	fresh = malloc(SMALL_RAM);
	own = malloc(SMALL_RAM);
	memcpy(fresh, small.ram, SMALL_RAM);
}

/* The service. */

static void drop_answers(void)
{
	static char buf[65536];
	struct msghdr m = {.msg_iov = &(struct iovec){buf, sizeof(buf)}, .msg_iovlen = 1};

	/* without a control buffer, the kernel discards the files */
	while (recvmsg(ends[1], &m, 0) > 0)
		;
}

static void ask(struct hv_broker_server *server, const struct hv_message *q)
{
	hv_err_free(hv_broker_server_answer(server, ends[0], q));
	drop_answers();
}

/* Returns the address of a write: a site, a word, a page-table entry, memory of a program, or any
 * address. */
static uint64_t gpa_of(const struct record *in)
{
	switch (in->a % 6) {
	case 0:
		return SITE_AT(in->b % SITES) + (in->c & 0x80 ? in->c % 8u : 0);
	case 1:
		return WORD_AT(in->b % WORDS) + (in->c & 0x80 ? in->c % 8u : 0);
	case 2:
		return small_entry_of(&small, SMALL_WINDOW + (uint64_t)(in->b % ENTRIES) * UNIT);
	case 3:
		return USER_START + in->d % (USER_END - USER_START);
	case 4:
		return SMALL_TABLES + in->d % 0x4000;
	default:
		return in->d % (SMALL_RAM + 4096);
	}
}

static uint64_t retp_gva(const struct record *in)
{
	return SMALL_WINDOW + (uint64_t)(in->b % ENTRIES) * UNIT;
}

/* Returns the claimed virtual address, which is usually correct. */
static uint64_t gva_of(const struct record *in, uint64_t gpa)
{
	if (!(in->c & 0x40))
		return in->a % 6 == 2 ? retp_gva(in) : SMALL_TEXT + gpa;
	switch (in->d % 4) {
	case 0:
		return retp_gva(in);
	case 1:
		return SMALL_TEXT + SITE_AT(in->b % SITES);
	case 2:
		return SMALL_TEXT + WORD_AT(in->b % WORDS);
	default:
		return SMALL_TEXT + in->d;
	}
}

static uint64_t leaf_of(uint64_t e)
{
	uint64_t to = SMALL_REGION + (e & 1 ? UNIT : 0);

	return small_leaf(&small, 2, to, e & 2 ? HV_ACCESS_READ_WRITE : HV_ACCESS_READ_EXECUTE);
}

static void fill_bytes(const struct record *in, struct hv_hold_write *w)
{
	uint64_t now = w->gpa.v <= SMALL_RAM - 8 ? word_in(small.ram, w->gpa.v) : 0, word = in->e;
	uint8_t code[8 + LEN_X86] = {0};

	switch (in->act % 12) {
	case 0:
	case 1:
		put_branch(code, 0, in->act % 12 ? 0xe8 : 0xe9,
			   SMALL_TEXT + SMALL_WINDOW - w->gva.v + in->e % (4 * UNIT));
		memcpy(&word, code, 8);
		break;
	case 2:
		put_branch(code, 0, in->e & 1 ? 0xe8 : 0xe9,
			   2 * SMALL_TEXT - w->gva.v + in->e % SMALL_RAM);
		memcpy(&word, code, 8);
		break;
	case 3:
		memcpy(&word, nop, LEN_X86);
		break;
	case 4:
		word = leaf_of(in->e);
		break;
	case 5:
		word = in->e & 1 ? 0 : word_in(own, w->gpa.v & (SMALL_RAM - 8));
		break;
	case 6:
		word = SMALL_WINDOW + in->e % (4 * UNIT) / 8 * 8;
		break;
	case 7:
		word = SMALL_TEXT + in->e % SMALL_RAM;
		break;
	case 8:
		word = now + (in->e & 1 ? 1 : -1ull);
		break;
	case 9:
		word = now ^ 1ull << in->e % 8;
		break;
	default:
		break;
	}
	memcpy(w->bytes, &word, 8);
}

static struct hv_hold_write any_write(const struct record *in)
{
	static const uint8_t lens[] = {5, 8, 4, 1, 8, 2, 7, 3};
	struct hv_hold_write w = {.len_bytes = lens[in->c % 8], .gpa = hv_gpa(gpa_of(in))};

	w.gva = hv_gva(gva_of(in, w.gpa.v));
	w.is_text = !(in->a % 6) ^ (in->c >> 5 & 1);
	fill_bytes(in, &w);
	return w;
}

/* Makes a write. Most are of a kind that a session makes, although often at a wrong address. A kind
 * is the type of address, the contents (fill_bytes), and the length. */
static struct hv_hold_write write_of(const struct record *in)
{
	static const uint8_t kinds[][3] = {{0, 0, 5}, {0, 1, 5}, {0, 2, 5}, {0, 3, 5},	{0, 5, 5},
					   {2, 4, 8}, {2, 5, 8}, {1, 6, 8}, {1, 5, 8},	{1, 7, 8},
					   {1, 8, 4}, {1, 9, 1}, {0, 5, 8}, {1, 10, 8}, {3, 4, 8}};
	const uint8_t *kind = kinds[in->act % HV_ARRAY_LEN(kinds)];
	struct record like = *in;
	struct hv_hold_write w;

	if (in->act >= 16 * HV_ARRAY_LEN(kinds))
		return any_write(in);
	like.a = kind[0];
	like.act = kind[1];
	like.c &= 0xdf;
	w = any_write(&like);
	w.len_bytes = kind[2];
	return w;
}

static int by_gpa(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_hold_write *)a)->gpa.v;
	uint64_t y = ((const struct hv_hold_write *)b)->gpa.v;

	return x < y ? -1 : x > y;
}

/* Returns the number of records used. */
static size_t write_list(struct hv_broker_server *server, const struct record *in, size_t nr)
{
	struct hv_hold_write writes[WRITES_MAX] = {0};
	size_t wanted = 1 + in->a % WRITES_MAX, n = 0;

	while (n < wanted && n + 1 < nr) {
		writes[n] = write_of(&in[n + 1]);
		n++;
	}
	qsort(writes, n, sizeof(*writes), by_gpa);
	ask(server, &(struct hv_message){.kind = HV_ASK_HOLD_WRITE,
					 .bytes = (uint8_t *)writes,
					 .len_bytes = n * sizeof(*writes)});
	small.fails_after = 0;
	return n;
}

static void begin_hold(struct hv_broker_server *server, const struct record *in)
{
	ask(server,
	    &(struct hv_message){.kind = HV_ASK_HOLD_BEGIN, .args = {1000000000, in->a & 1}});
}

/* Maps the region like an attach does. */
static void map(struct hv_broker_server *server)
{
	struct hv_hold_write writes[2] = {
		{.gva = hv_gva(SMALL_WINDOW), .len_bytes = 8},
		{.gva = hv_gva(DATA_WINDOW), .len_bytes = 8},
	};
	uint64_t leaves[2] = {leaf_of(0), leaf_of(3)};

	ask(server, &(struct hv_message){.kind = HV_ASK_REGION});
	ask(server, &(struct hv_message){.kind = HV_ASK_HOLD_BEGIN, .args = {1000000000}});
	for (unsigned i = 0; i < 2; i++) {
		writes[i].gpa = hv_gpa(small_entry_of(&small, writes[i].gva.v));
		memcpy(writes[i].bytes, &leaves[i], 8);
	}
	ask(server, &(struct hv_message){.kind = HV_ASK_HOLD_WRITE,
					 .bytes = (uint8_t *)writes,
					 .len_bytes = sizeof(writes)});
}

static void ask_any(struct hv_broker_server *server, const struct record *in)
{
	struct hv_message q = {.kind = in->a % HV_NR_QUESTIONS, .args = {in->e, in->d}};

	q.args[0] %= SMALL_RAM + 64; /* larger answers would take most of the time */
	q.args[1] %= 4096;
	ask(server, &q);
}

/* Changes by the guest. */

/* The guest's own tracers begin to use a site, change to another trampoline, or end. */
static void change_site(const struct record *in)
{
	unsigned site = in->a % SITES;

	if (site % 4 == 3 || site % 8 == 6) /* not a site of ftrace */
		return;
	if (in->b % 4)
		put_branch(small.ram, SITE_AT(site), 0xe8,
			   SMALL_TEXT + 0x4000 + 0x1000 * (in->b % 4));
	else
		memcpy(small.ram + SITE_AT(site), nop, LEN_X86);
	memcpy(own + SITE_AT(site), small.ram + SITE_AT(site), LEN_X86);
}

static void write_by_kernel(const struct record *in)
{
	static const uint64_t words[] = {0,
					 1,
					 SMALL_WINDOW + 0x1000,
					 DATA_WINDOW + 0x40,
					 SMALL_TEXT + 0xa000,
					 SMALL_TEXT + 0x4000,
					 UINT64_MAX,
					 4096};
	uint64_t gpa = WORD_AT(in->a % WORDS);

	put_word(small.ram, gpa, words[in->b % HV_ARRAY_LEN(words)]);
	put_word(own, gpa, words[in->b % HV_ARRAY_LEN(words)]);
}

static void write_by_program(const struct record *in)
{
	uint64_t gpa = USER_START + in->d % (USER_END - USER_START) / 8 * 8, word = in->e;

	if (in->a & 1) /* looks like a table */
		word = small_table(&small, USER_START + (in->e & 3) * 0x1000);
	if (in->a & 2)
		word = small_leaf(&small, 1, in->e % SMALL_RAM & ~0xfffull, HV_ACCESS_READ_EXECUTE);
	put_word(small.ram, gpa, word);
	put_word(own, gpa, word);
}

/* Gives a vCPU the kernel's page tables with any PCID, and an address in the kernel or in a program.
 * A hostile VMM can report any registers, as it could also write to guest memory itself. */
static void move_vcpu(const struct record *in)
{
	struct hv_vcpu_regs *regs = &small.regs[in->a & 1];

	regs->root = SMALL_TABLES | (in->b & 0xfff);
	regs->ip = hv_gva(in->c & 1 ? 0x1234 : SMALL_TEXT + in->d % SMALL_CODE);
	if (in->c & 2 && is_vmm_hostile)
		*regs = (struct hv_vcpu_regs){.ip = hv_gva(in->e),
					      .root = in->e ^ in->d,
					      .levels = in->d % 7,
					      .hidden = in->b % 3};
}

static size_t act(struct hv_broker_server *server, const struct record *in, size_t nr)
{
	switch (in->act % NR_ACTS) {
	case ASK:
		ask_any(server, in);
		break;
	case WRITE:
		return 1 + write_list(server, in, nr);
	case BEGIN:
		begin_hold(server, in);
		break;
	case END:
		ask(server, &(struct hv_message){.kind = HV_ASK_HOLD_END});
		break;
	case MAP:
		map(server);
		break;
	case REGION:
		put_word(small.region.host, in->d % small.region.len_bytes & ~7u, in->e);
		break;
	case PROGRAM:
		write_by_program(in);
		break;
	case KERNEL:
		if (in->c & 1)
			change_site(in);
		else
			write_by_kernel(in);
		break;
	case VCPU:
		move_vcpu(in);
		break;
	default:
		small.fails_after = 1 + in->a % 4;
		break;
	}
	return 1;
}

/* Leaves calls and the journal of an earlier session. The guest may have changed the journal. */
static void leave_session(const struct record *in)
{
	struct hv_journal_entry *to =
		(struct hv_journal_entry *)(small.region.host + HV_REGION_JOURNAL_OFF);

	put_word(small.ram, small_entry_of(&small, SMALL_WINDOW), leaf_of(0));
	put_word(own, small_entry_of(&small, SMALL_WINDOW), leaf_of(0));
	for (unsigned i = 0; i < JOURNAL_USED / 2; i++) {
		uint64_t gpa = SITE_AT(i * 2);

		journal[nr_journal] = (struct hv_journal_entry){.gpa = gpa,
								.gva = SMALL_TEXT + gpa,
								.state = HV_JOURNAL_USED,
								.len_bytes = LEN_X86};
		memcpy(journal[nr_journal].old_bytes, small.ram + gpa, LEN_X86);
		if (in->a >> i & 1)
			continue;
		put_branch(small.ram, gpa, 0xe8, SMALL_WINDOW + 0x1000);
		put_branch(own, gpa, 0xe8, SMALL_WINDOW + 0x1000);
		to[nr_journal] = journal[nr_journal];
		nr_journal++;
	}
	/* an entry for an unpatched address, which the rules must not trust */
	to[nr_journal] = (struct hv_journal_entry){.gpa = SITE_AT(in->b % SITES) + 16,
						   .gva = SMALL_TEXT + SITE_AT(in->b % SITES) + 16,
						   .state = HV_JOURNAL_USED,
						   .len_bytes = in->c % 12};
	memcpy(to[nr_journal].old_bytes, &in->e, 8);
}

static void reset(void)
{
	for (uint64_t at = 0; at < SMALL_RAM; at += PAGE_BYTES) {
		if (memcmp(small.ram + at, fresh + at, PAGE_BYTES) != 0)
			memcpy(small.ram + at, fresh + at, PAGE_BYTES);
		if (memcmp(own + at, fresh + at, PAGE_BYTES) != 0)
			memcpy(own + at, fresh + at, PAGE_BYTES);
	}
	memset(small.region.host + HV_REGION_JOURNAL_OFF, 0, 2 * JOURNAL_USED * sizeof(*journal));
	nr_journal = 0;
	for (unsigned i = 0; i < 2; i++)
		small.regs[i] = (struct hv_vcpu_regs){.root = SMALL_TABLES, .levels = 4};
	small.regs[0].ip = hv_gva(SMALL_TEXT + 0x1100);
	small.fails_after = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record records[64] = {0};
	size_t nr = size / sizeof(*records);
	struct hv_broker_server *server;
	bool is_earlier;

	open_once();
	reset();
	if (!nr || nr > HV_ARRAY_LEN(records))
		return 0;
	memcpy(records, data, nr * sizeof(*records));
	is_vmm_hostile = records[0].act & 1;
	is_earlier = records[0].act & 2;
	if (is_earlier)
		leave_session(&records[0]);
	server = hv_broker_server_new(guest, is_earlier ? HV_ADOPTS_EARLIER : HV_ADOPTS_NOTHING);
	if (!(records[0].act & 4))
		map(server);
	for (size_t i = 1; i < nr;)
		i += act(server, &records[i], nr - i);
	hv_broker_server_free(server);
	check(!small.held);
	if (is_vmm_hostile)
		return 0;
	check_code();
	check_tables();
	check_data();
	return 0;
}
