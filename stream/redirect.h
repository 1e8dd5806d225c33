/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the XDP program of a collector is told before it is loaded. Numbers are in network order. */
#pragma once

struct hv_redirect_for {
	unsigned short port;
	unsigned char family; /* 4, 6; 0: any address */
	unsigned char unused;
	unsigned char address[16]; /* of this host */
};
