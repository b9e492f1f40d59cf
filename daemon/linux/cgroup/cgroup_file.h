#ifndef ISOD_LINUX_CGROUP_FILE_H
#define ISOD_LINUX_CGROUP_FILE_H
/* The control files of one group, by the descriptor of its directory. All that return int: 0 or -errno. */
#include <stdbool.h>
#include <stddef.h>

/* The whole text, NUL-terminated, the caller's. */
int cgroup_file_read(int dir, const char *name, char **ret);
/* Is word one of those in list[len], which any byte of separators divides? */
bool cgroup_file_has_word(const char *list, size_t len, const char *separators, const char *word);

/* One write(2): the kernel takes a value whole or not at all. */
int cgroup_file_write(int dir, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* v1: freezes the group, sends SIGKILL to each process listed in it, thaws it. Nothing can fork its way out, and no
 * number is used again meanwhile. */
int cgroup_file_kill_frozen(int dir);

#endif
