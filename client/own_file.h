#ifndef ISOD_CLIENT_OWN_FILE_H
#define ISOD_CLIENT_OWN_FILE_H
/* Small files of the user's that are replaced as a whole: whoever reads sees the old one or the new one. */
#include <stddef.h>
#include <sys/types.h>

/* The folders down to the file's, as the user's alone where they are new. 0 or -errno. */
int own_file_make_folders(const char *file);
/* A lock on the file's folder, which is there, for as long as the descriptor is open. The descriptor or -errno. */
int own_file_lock(const char *file);
/* On disk when it returns. 0 or -errno. */
int own_file_replace(const char *file, const void *data, size_t n, mode_t mode);

#endif
