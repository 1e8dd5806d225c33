/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks of fake_hvtrace. FAKE_CLOCK_RATE=N: all clocks except the time of day run N times as
 * fast, and polls end after an Nth of their time. Tests of time limits need not wait. */
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __real_poll(struct pollfd *fds, nfds_t nr, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout_ms);

static int64_t rate(void)
{
	static int64_t rate;

	if (!rate)
		rate = getenv("FAKE_CLOCK_RATE") ? atoi(getenv("FAKE_CLOCK_RATE")) : 1;
	return rate;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	static int64_t first_ns;
	int64_t ns;

	if (__real_clock_gettime(clock, ret) != 0)
		return -1;
	if (clock == CLOCK_REALTIME || rate() == 1)
		return 0;
	ns = ret->tv_sec * NS_PER_S + ret->tv_nsec;
	if (clock >= 0 && !first_ns)
		first_ns = ns;
	/* Negative clocks count the CPU time of a process. */
	ns = clock < 0 ? ns * rate() : first_ns + (ns - first_ns) * rate();
	*ret = (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
	return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	if (timeout_ms > 0 && rate() > 1)
		timeout_ms = (int)(timeout_ms / rate()) + 1;
	return __real_poll(fds, nr, timeout_ms);
}
