/*
 * Preloaded into Postgres, makes this machine's disk as slow as network storage: fsync and fdatasync take at least
 * SLOW_FSYNC_US microseconds more. cc -shared -fPIC -o slow-fsync.so slow-fsync.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_a_little(void)
{
	static long us = -1;
	if (us < 0) {
		const char *text = getenv("SLOW_FSYNC_US");
		us = text ? atol(text) : 0;
	}
	struct timespec left = { us / 1000000, us % 1000000 * 1000 };
	while (nanosleep(&left, &left) != 0)
		;
}

int fsync(int fd)
{
	static int (*real)(int);
	if (!real)
		real = dlsym(RTLD_NEXT, "fsync");
	wait_a_little();
	return real(fd);
}

int fdatasync(int fd)
{
	static int (*real)(int);
	if (!real)
		real = dlsym(RTLD_NEXT, "fdatasync");
	wait_a_little();
	return real(fd);
}
