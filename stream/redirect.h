/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of the collector's XDP program, set before it is loaded. Network byte order. */
#pragma once

struct hv_redirect_for {
	unsigned short port;
	unsigned char family; /* 4 or 6; 0: any address */
	unsigned char unused;
	unsigned char address[16]; /* local address to match */
};
