/*
 * A library that is preloaded into Postgres. It makes this machine's disk as slow as network storage: each fsync and
 * fdatasync takes longer, by at least the number of microseconds that is in the file SLOW_FSYNC_FILE at that moment.
 *
 * cc -shared -fPIC -o slow-fsync.so slow-fsync.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void wait_a_little(void)
{
	char text[16] = "";
	const char *path = getenv("SLOW_FSYNC_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	ssize_t length = read(fd, text, sizeof text - 1);
	close(fd);
	long us = length > 0 ? atol(text) : 0;
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
