/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the warden whatever a service that was taken over could ask: the input is a list of
 * questions. Whatever it is, text has a nop (a static key's way back may be another nop than the
 * guest had), a call of or a jump into what leaves of the region map, or a static key's jump. */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "tests/unit/vmm/warden/small_guest.h"
#include "vmm/warden/far.h"
#include "vmm/warden/wire.h"

#define SITES	   8
#define WRITES_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct small_guest small;
static struct hv_guest *guest;
static int ends[2];

static const uint8_t nop[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static void open_once(void)
{
	if (guest)
		return;
	guest = small_guest_open(&small);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
		abort();
}

static void drop_answers(void)
{
	static char buf[65536];
	struct msghdr m = {.msg_iov = &(struct iovec){buf, sizeof(buf)}, .msg_iovlen = 1};

	/* files in flight are closed with the message */
	while (recvmsg(ends[1], &m, 0) > 0)
		;
}

/* A write at a site or at a slot of the page table, of what the input has. */
static struct hv_hold_write write_of(const uint8_t *in)
{
	struct hv_hold_write w = {.len_bytes = in[1] % 10, .is_text = !(in[1] & 0x40)};

	w.gpa = hv_gpa(in[1] & 0x40 ? 0x8000 + 8ull * (in[0] % 8)
				    : 0x1000 + 16ull * (in[0] % SITES));
	w.gva = hv_gva(in[1] & 0x40 ? SMALL_WINDOW + ((uint64_t)in[0] << 18)
				    : SMALL_TEXT + w.gpa.v);
	memcpy(w.bytes, in + 2, 8);
	return w;
}

static void ask(struct hv_far *far, const uint8_t *in, size_t len)
{
	struct hv_hold_write writes[WRITES_MAX];
	struct hv_message q = {.kind = in[0] % HV_NR_QUESTIONS, .bytes = (uint8_t *)writes};

	memcpy(q.args, in + 1, 7);
	q.args[0] %= SMALL_RAM + 64; /* else the answers take most of the time */
	q.args[1] %= 4096;
	for (size_t i = 0; q.kind == HV_ASK_HOLD_WRITE && i < WRITES_MAX && (i + 1) * 10 <= len - 8;
	     i++) {
		writes[i] = write_of(in + 8 + 10 * i);
		q.len_bytes += sizeof(*writes);
	}
	hv_err_free(hv_far_answer(far, ends[0], &q));
	drop_answers();
}

static bool is_mapped(struct hv_gva at)
{
	uint64_t span = hv_guest_info(guest)->arch->entry_span(2);

	return at.v - SMALL_WINDOW < 64 * span;
}

static bool is_nop(const uint8_t *site, struct hv_gva at)
{
	bool jumps;
	size_t len_bytes =
		hv_guest_info(guest)->arch->classify_jump_site(site, at, hv_gva(0), &jumps);

	return len_bytes == sizeof(nop) && !jumps;
}

static void check_text(void)
{
	for (unsigned i = 0; i < SITES; i++) {
		const uint8_t *site = small.ram + 0x1000 + 16 * i;
		struct hv_gva at = hv_gva(SMALL_TEXT + 0x1000 + 16 * i), target;
		enum hv_site_kind kind =
			hv_guest_info(guest)->arch->classify_site(site, at, &target);

		if (is_nop(site, at))
			continue;
		if (kind == HV_SITE_CALL && is_mapped(target))
			continue;
		if (kind != HV_SITE_JUMP)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hv_far *far;

	open_once();
	memset(small.ram + 0x8000, 0, 64);
	for (unsigned i = 0; i < SITES; i++)
		memcpy(small.ram + 0x1000 + 16 * i, nop, 5);
	far = hv_far_new(guest, HV_ADOPTS_NOTHING);
	while (size > 9) {
		size_t len = 9 + data[8] % 96;

		if (len > size)
			len = size;
		ask(far, data, len);
		data += len;
		size -= len;
	}
	hv_far_free(far);
	check_text();
	return 0;
}
