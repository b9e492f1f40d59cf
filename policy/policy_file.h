#ifndef ISOD_POLICY_FILE_H
#define ISOD_POLICY_FILE_H
/* One layer's text into the merged policy. */
#include "policy/policy_build.h"

/* 0, or -errno with *b->error filled. */
int policy_file_read(const struct policy_builder *b, const char *text, size_t len);

#endif
