#ifndef ISOD_LINUX_SECCOMP_EXPORT_H
#define ISOD_LINUX_SECCOMP_EXPORT_H
#include "base/buffer.h"

/* Appends what libseccomp makes of the context (scmp_filter_ctx), an array of struct sock_filter. 0 or -errno. */
int seccomp_export(void *ctx, struct buffer *ret);

#endif
