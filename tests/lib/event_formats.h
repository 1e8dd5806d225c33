/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the formats of events, for peers that play a service to libhvtrace. */
#pragma once

#define FORMAT_COMMON                                                                              \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
#define FORMAT_GRAPH                                                                               \
	FORMAT_COMMON "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"               \
		      "\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
