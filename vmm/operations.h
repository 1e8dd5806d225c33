/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations of a guest (guest.h) that an unprivileged process requests from a privileged one.
 * Each is one line in this table, which generates: the request number (broker/wire.h), the function
 * that sends the request (broker/client.c), the function that answers it (broker/server.c), and the
 * function of guest.h that calls the implementation (guest.c).
 *
 * The first word of a line is the form of the operation. What each form generates and leaves to
 * write by hand:
 *
 *   form  member of struct hv_guest_ops         by hand
 *   CALL  (self)                                nothing
 *   FLAG  (self, bool *ret)                     nothing
 *   AT    (self, struct hv_gva), an address in  nothing
 *         the image of the guest's kernel
 *   LIST  (self, const TYPE *list, size_t nr)   take_NAME() in server.c, which checks the list, and
 *                                               hv_guest_NAME()
 *   OWN   any                                   client_NAME(), answer_NAME(), hv_guest_NAME()
 *   ASK   none: client.c sends the request      answer_NAME()
 *
 * The second word is the request (HV_ASK_...), the third the name. The fourth limits when the
 * privileged side answers: ALWAYS, HELD (only in a hold) or FREE (never in a hold, for example to
 * change the access path). The last argument of AT names the feature that is unavailable without
 * the operation. An implementation may omit a CALL or FLAG if it has nothing to do; the flag is
 * then false. The last argument of LIST is the type.
 *
 * Lines are sorted by request number; the first number is 2. */
#pragma once

/* clang-format off */
#define HV_GUEST_OPERATIONS(CALL, FLAG, AT, LIST, OWN, ASK)                                        \
	ASK(OPEN,           open,                    ALWAYS)                                       \
	OWN(READ,           read,                    ALWAYS)                                       \
	ASK(RAM,            ram_files,               ALWAYS)                                       \
	OWN(COUNT,          count_vcpus,             ALWAYS)                                       \
	OWN(REGISTERS,      registers,               ALWAYS)                                       \
	OWN(REGION,         region,                  FREE)                                         \
	CALL(PIN,           pin,                     FREE)                                         \
	CALL(UNPIN,         unpin,                   FREE)                                         \
	CALL(REFUSAL,       refusal,                 FREE)                                         \
	FLAG(LET_RUN,       let_run,                 FREE)                                         \
	OWN(TSC,            tsc,                     ALWAYS)                                       \
	FLAG(SLEEPS,        sleeps,                  ALWAYS)                                       \
	CALL(PREPARE_HOLD,  prepare_hold,            FREE)                                         \
	LIST(PREPARE_TEXT,  prepare_text,            FREE, struct hv_gpa)                          \
	OWN(HOLD_BEGIN,     hold_begin,              ALWAYS)                                       \
	OWN(HOLD_REGISTERS, hold_registers,          HELD)                                         \
	LIST(HOLD_WRITE,    hold_write,              HELD, struct hv_hold_write)                   \
	OWN(HOLD_FLUSH,     hold_flush_translations, HELD)                                         \
	OWN(HOLD_END,       hold_end,                HELD)                                         \
	OWN(HOST_FORMATS,   host_formats,            ALWAYS)                                       \
	OWN(HOST_TRACE,     host_trace,              FREE)                                         \
	OWN(HOST_PIPES,     host_pipes,              ALWAYS)                                       \
	AT(STOP_AT,         stop_at,                 FREE, "stop the guest at an instruction")     \
	FLAG(IS_AT_STOP,    is_at_stop,              FREE)                                         \
	OWN(END_STOP,       end_stop,                FREE)                                         \
	AT(RUN_TO,          run_to,                  FREE, "run the guest up to an instruction")
/* clang-format on */

/* For forms that generate nothing. */
#define HV_NO_OPERATION(...)
