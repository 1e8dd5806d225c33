/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tracepoint of a fake guest. Its static key has sites of both lengths, one of them in init
 * code. */
#pragma once

#include "kernel/events/tracepoint_state.h"
#include "tests/unit/kernel/fake_kernel.h"

#define FTP_CODE      (FK_BASE + 0x40000)
#define FTP_SITE(n)   (FTP_CODE + 0x100ull * (n))
#define FTP_TARGET    0x40 /* from a site */
#define FTP_SHORT     2	   /* this site has two bytes, the others five */
#define FTP_INIT      3	   /* this one is freed */
#define FTP_NR	      4u
#define FTP_LEN	      0x180 /* of a struct tracepoint */
#define FTP_ITERATOR  (FK_BASE + 0x50000)
#define FTP_CALLBACK  (FK_BASE + 0x51000)
#define FTP_STUB_FUNC (FK_BASE + 0x52000)
#define FTP_OTHER     (FK_BASE + 0x53000) /* a callback that the guest registered */
/* Its static call: a trampoline, a call, a jump, and a site in init code. */
#define FTP_CALLS     (FK_BASE + 0x41000)
#define FTP_CALL(n)   (FTP_CALLS + 0x100ull * (n))
#define FTP_TAIL      2
#define FTP_INIT_CALL 3
#define FTP_NR_CALLS  4u

struct ftp {
	struct fk *f;
	struct hv_event_type type;
	uint64_t locks[5], static_call, table, calls;
	uint64_t array; /* of the guest */
};

static const uint8_t ftp_nop[5] = {0x66, 0x66, 0x66, 0x66, 0x90};
static const uint8_t ftp_short_nop[2] = {0x66, 0x90};

/* Call it before fk_done(). IS_OLD: as before 5.10, tracepoints have neither a static call nor an
 * iterator. */
static inline void ftp_declare_as(struct ftp *tp, struct fk *f, bool is_old)
{
	static const char *const locks[] = {"tracepoints_mutex", "tracepoint_module_list_mutex",
					    "jump_label_mutex", "static_call_mutex", "text_mutex"};

	*tp = (struct ftp){.f = f};
	FK_STRUCT("static_key", 16, {"enabled", 0, 4}, {"entries", 8, 8});
	FK_STRUCT("jump_entry", 16, {"code", 0, 4}, {"target", 4, 4}, {"key", 8, 8});
	FK_STRUCT("tp_probes", 16, {"rcu", 0, 16}, {"probes", 16, 0});
	FK_STRUCT("tracepoint_func", 24, {"func", 0, 8}, {"data", 8, 8}, {"prio", 16, 4});
	if (is_old)
		FK_STRUCT("tracepoint", FTP_LEN, {"funcs", 64, 8}, {"key", 0x100, 16});
	else
		FK_STRUCT("tracepoint", FTP_LEN, {"static_call_key", 24, 8},
			  {"static_call_tramp", 40, 8}, {"iterator", 32, 8}, {"funcs", 64, 8},
			  {"key", 0x100, 16});
	FK_STRUCT("static_call_key", 16, {"func", 0, 8}, {"mods", 8, 8});
	FK_STRUCT("static_call_site", 8, {"addr", 0, 4}, {"key", 4, 4});
	FK_STRUCT("static_call_mod", 24, {"next", 0, 8}, {"mod", 8, 8}, {"sites", 16, 8});
	FK_STRUCT("trace_event_file", 96, {"flags", 72, 8});
	FK_STRUCT("mutex", 32, {"owner", 0, 8});
	enumerator("EVENT_FILE_FL_SOFT_DISABLED", 64);
	tp->table = fk_alloc(f, 4096);
	fk_symbol(f, "__start___jump_table", tp->table);
	fk_symbol(f, "__stop___jump_table", tp->table + (FTP_NR + 2) * 16);
	tp->calls = fk_alloc(f, 4096);
	fk_symbol(f, "__start_static_call_sites", tp->calls);
	fk_symbol(f, "__stop_static_call_sites", tp->calls + FTP_NR_CALLS * 8);
	for (unsigned i = 0; i < HV_ARRAY_LEN(locks); i++) {
		tp->locks[i] = fk_alloc(f, 8);
		if (!is_old || strcmp(locks[i], "static_call_mutex") != 0)
			fk_symbol(f, locks[i], tp->locks[i]);
	}
	fk_symbol(f, "tp_stub_func", FTP_STUB_FUNC);
}

static inline void ftp_declare(struct ftp *tp, struct fk *f)
{
	ftp_declare_as(tp, f, false);
}

static inline void ftp_put_sites(struct ftp *tp, uint64_t key)
{
	/* Two sites of another key follow. */
	for (unsigned i = 0; i < FTP_NR + 2; i++) {
		uint64_t at = tp->table + i * 16;
		uint8_t *code = fk_host(tp->f, FTP_SITE(i));

		fk_u32(tp->f, at, (uint32_t)(FTP_SITE(i) - at));
		fk_u32(tp->f, at + 4, (uint32_t)(FTP_SITE(i) + FTP_TARGET - at - 4));
		fk_u64(tp->f, at + 8,
		       key + (i < FTP_NR ? 0 : 32) - (at + 8) + (i == FTP_INIT ? 2 : 0));
		memset(code, 0xf4, 8);
		if (i == FTP_SHORT || i == FTP_NR)
			memcpy(code, ftp_short_nop, sizeof(ftp_short_nop));
		else if (i != FTP_INIT)
			memcpy(code, ftp_nop, sizeof(ftp_nop));
	}
}

/* Enables the static key, as the kernel does. */
static inline void ftp_jump(struct ftp *tp)
{
	for (unsigned i = 0; i < FTP_INIT; i++) {
		uint8_t *code = fk_host(tp->f, FTP_SITE(i));

		if (i == FTP_SHORT)
			memcpy(code, (uint8_t[]){0xeb, FTP_TARGET - 2}, 2);
		else
			memcpy(code, (uint8_t[]){0xe9, FTP_TARGET - 5, 0, 0, 0}, 5);
	}
}

/* Returns the target of call N of the static call. */
static inline uint64_t ftp_call_target(struct ftp *tp, unsigned n)
{
	int32_t distance;

	memcpy(&distance, fk_host(tp->f, FTP_CALL(n)) + 1, sizeof(distance));
	return FTP_CALL(n) + 5 + (uint64_t)(int64_t)distance;
}

/* Makes the static call call TARGET, as the kernel does. */
static inline void ftp_lead(struct ftp *tp, uint64_t target)
{
	fk_u64(tp->f, tp->static_call, target);
	for (unsigned i = 0; i < FTP_NR_CALLS; i++) {
		*(uint8_t *)fk_host(tp->f, FTP_CALL(i)) = i == 0 || i == FTP_TAIL ? 0xe9 : 0xe8;
		fk_u32(tp->f, FTP_CALL(i) + 1, (uint32_t)(target - FTP_CALL(i) - 5));
	}
	memset(fk_host(tp->f, FTP_CALL(FTP_INIT_CALL)), 0xf4, 8);
}

static inline void ftp_put_calls(struct ftp *tp)
{
	fk_u64(tp->f, tp->static_call + 8, tp->calls | 1);
	for (unsigned i = 1; i <= FTP_NR_CALLS; i++) {
		uint64_t at = tp->calls + (i - 1) * 8;
		uint64_t key = tp->static_call + (i == FTP_NR_CALLS ? 0x40 : 0);
		uint64_t flags = i == FTP_TAIL ? 1 : i == FTP_INIT_CALL ? 2 : 0;

		fk_u32(tp->f, at, (uint32_t)(FTP_CALL(i) - at));
		fk_u32(tp->f, at + 4, (uint32_t)(key + flags - (at + 4)));
	}
	ftp_lead(tp, FTP_ITERATOR);
}

/* Call it after fk_done(). */
static inline void ftp_make(struct ftp *tp)
{
	struct hv_tracepoint *p = &tp->type.tracepoint;
	uint64_t at = fk_alloc(tp->f, 4096), key = at + 0x100;

	tp->static_call = at + 0x200;
	tp->array = at + 0x300;
	*p = (struct hv_tracepoint){.at = hv_gva(at),
				    .key = hv_gva(key),
				    .funcs = hv_gva(at + 64),
				    .iterator = hv_gva(FTP_ITERATOR)};
	tp->type.reg_kind = HV_EVENT_REG_TRACEPOINT;
	tp->type.callback = hv_gva(FTP_CALLBACK);
	tp->type.id = 314;
	fk_u64(tp->f, at + 24, tp->static_call);
	fk_u64(tp->f, at + 40, FTP_CALL(0));
	ftp_put_calls(tp);
	fk_u64(tp->f, key + 8, tp->table);
	fk_u64(tp->f, at + 32, FTP_ITERATOR);
	fk_symbol(tp->f, "__tracepoint_fake", at);
	fk_symbol(tp->f, "behind_it", at + FTP_LEN);
	hv_symbols_index(&tp->f->k.core.symbols);
	ftp_put_sites(tp, key);
}

/* Writes callback INDEX of the array at AT. */
static inline void ftp_put_callback(struct ftp *tp, uint64_t at, unsigned index, uint64_t func,
				    uint64_t data)
{
	fk_u64(tp->f, at + index * 24, func);
	fk_u64(tp->f, at + index * 24 + 8, data);
	fk_u64(tp->f, at + (index + 1) * 24, 0);
}
