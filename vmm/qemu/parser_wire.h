/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The messages between the process that accesses the guest and the parser (parser.h): a header,
 * then LEN_BYTES. While the parser answers a request, it may have commands relayed to the monitor.
 *
 *   privileged --question--> parser
 *              <--relay-----             as often as it needs, if libvirt has the monitor
 *              --relayed-->
 *              <--answer---- */
#pragma once

#include "vmm/qemu/monitor.h"

#define PARSER_TEXT_MAX_BYTES	 (32u << 20) /* of a relayed answer */
#define PARSER_COMMAND_MAX_BYTES 4096	     /* of a relayed command */
#define PARSER_MESSAGE_MAX_BYTES 1024	     /* of an error's message */
#define PARSER_ASKED_MAX_BYTES	 512	     /* of a question */

enum parser_kind {
	PARSER_HELLO = 1, /* sent first; its answer is the error of starting QMP, if any */
	PARSER_KIND,	  /* -> struct hv_vmm_kind */
	PARSER_STATUS,	  /* -> struct hv_vmm_status */
	PARSER_MIGRATION, /* -> struct hv_vmm_migration */
	PARSER_SEV,	  /* -> 1: the guest is confidential */
	PARSER_THREADS,	  /* -> array of pid_t */
	PARSER_REGISTERS, /* number, architecture -> array of struct hv_vcpu_regs */
	PARSER_RAM,	  /* -> 1: some can be unplugged; array of struct hv_vmm_range */
	PARSER_HVA,	  /* gpa -> hva */
	PARSER_IVSHMEM,	  /* -> struct hv_vmm_ivshmem */
	PARSER_STUB,	  /* -> struct hv_vmm_stub */
	PARSER_GDBSERVER, /* path -> text */
	PARSER_CONT,
	PARSER_PIN_IS_SET, /* -> 1: set */
	PARSER_PIN_SET,	   /* path */
	PARSER_PIN_CLEAR,
	PARSER_DEVICES,	 /* -> enum hv_vmm_device */
	PARSER_FREE_GPA, /* bits, floor, length -> gpa */
	PARSER_NR_KINDS,
	PARSER_RELAY,
	PARSER_RELAYED,
	PARSER_ANSWER,
};

struct parser_head {
	uint32_t kind;
	int32_t code; /* of an answer: errno value, and the bytes are the message; 0: success */
	uint32_t len_bytes;
	uint32_t unused;
	uint64_t args[3];
};

/* For tests: timeout of the parser during a request. */
extern uint64_t hv_parser_silent_ns;

/* The main function of the parser's process (vmm/helper.h). PATH is the path of the QMP socket
 * HV_HELPER_OTHER, for messages. NULL: there is no such socket, and commands are relayed. */
_Noreturn void parser_run(const char *path);

/* Answers QUESTION, whose BYTES are NUL-terminated: sets ARGS and appends to OUT. Also for tests
 * and fuzzers. */
struct hv_err *parser_answer(struct hv_monitor *m, const struct parser_head *question,
			     const char *bytes, uint64_t args[3], struct hv_text *out) hv_must_use;
