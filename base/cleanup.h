#ifndef ISOD_BASE_CLEANUP_H
#define ISOD_BASE_CLEANUP_H
/*
 * Scope-exit ownership. A local marked with one of these owns its value; take_fd() and take_ptr() move it out.
 * All destructors accept the empty value (-1, NULL).
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Closes once; never retried on EINTR, since Linux has released the number already. Keeps errno. Returns -1. */
int fd_close(int fd);

static inline void cleanup_close_p(int *fd)
{
	*fd = fd_close(*fd);
}
static inline void cleanup_free_p(void *p)
{
	free(*(void **)p);
}
static inline void cleanup_closedir_p(DIR **d)
{
	if (*d)
		closedir(*d);
}
static inline void cleanup_fclose_p(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define _cleanup_close_ __attribute__((cleanup(cleanup_close_p)))
#define _cleanup_free_ __attribute__((cleanup(cleanup_free_p)))
#define _cleanup_closedir_ __attribute__((cleanup(cleanup_closedir_p)))
#define _cleanup_fclose_ __attribute__((cleanup(cleanup_fclose_p)))

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define take_ptr(p)                                                                                                    \
	({                                                                                                             \
		__typeof__(p) *_p = &(p);                                                                              \
		__typeof__(p) _t = *_p;                                                                                \
		*_p = NULL;                                                                                            \
		_t;                                                                                                    \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
