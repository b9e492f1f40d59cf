#ifndef ISOD_GIT_GIT_FOLDER_H
#define ISOD_GIT_GIT_FOLDER_H
/*
 * Folders and files of git's, opened by descriptor as the calling user: no symlink is ever followed, no fifo waited
 * for, and who else could change them is looked at.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Why something of git's is not taken for what it says it is. */
enum git_refusal {
	GIT_ACCEPTED,
	GIT_ABSENT,
	GIT_UNREADABLE,         /* or no file, no folder */
	GIT_NO_POINTER,         /* a .git file, a commondir, a gitdir with other text */
	GIT_TOO_LARGE,          /* that, and far too long for one */
	GIT_THROUGH_LINK,       /* a symlink on the way */
	GIT_NO_REPOSITORY,      /* the folder is no git folder */
	GIT_NOT_POINTED_BACK,   /* it does not know of this work tree */
	GIT_FOREIGN,            /* somebody else's */
	GIT_WRITABLE_BY_OTHERS, /* it, or a folder on the way */
	GIT_FORBIDDEN_PLACE,    /* home itself, a folder of secrets, the system's */
	GIT_REFUSAL_COUNT
};

/* A clause that goes on after the path: "is no git folder". */
const char *git_refusal_text(enum git_refusal r);

struct git_user {
	uid_t uid;
	gid_t group;      /* the group of the user alone, which may write too; (gid_t)-1: there is none */
	const char *home; /* clean, absolute; NULL */
};

struct git_identity {
	uint64_t device;
	uint64_t inode;
	int64_t born; /* seconds, 0 = the file system does not say. Devices of btrfs and NFS change with each mount */
};

/* May a folder be granted at all because git points there? Text only. */
bool git_folder_is_forbidden(const char *path, const struct git_user *user);

/*
 * Opens a folder that is the user's and that nobody else can write to or replace: path is clean and absolute, each
 * folder on the way is root's or the user's and not writable by others or a group of several (unless sticky). *ret is
 * the caller's to close.
 */
enum git_refusal git_folder_open(const char *path, const struct git_user *user, int *ret);
/* The same checks for one more component below an open folder. */
enum git_refusal git_folder_open_below(int at, const char *name, const struct git_user *user, int *ret);
/* Without the checks of owner and mode: for what is only read to be protected. */
enum git_refusal git_folder_open_any(const char *path, int *ret);

/* Reads a regular file into memory of the caller's, with a NUL behind it. */
enum git_refusal git_folder_read(int at, const char *name, char *ret, size_t ret_size, size_t *ret_len);

/* As git decides it: HEAD, objects and refs are there. */
bool git_folder_is_repository(int at);

int git_folder_identify(int fd, struct git_identity *ret); /* 0, -errno */
/* The same folder, though perhaps of a file system mounted anew. */
bool git_identity_is_same(const struct git_identity *a, const struct git_identity *b);

#endif
