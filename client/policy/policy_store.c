#include "client/policy/policy_store.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/escape.h"
#include "client/own_file.h"
#include "client/policy/policy_edit.h"
#include "client/policy/policy_texts.h"
#include "json/bytes.h"

/* Bytes of SHA-256 in the name: nobody finds two projects with the same ones. */
#define HASH_BYTES 16
#define NAME_BYTES 40

static int hash(const char *text, char ret[2 * HASH_BYTES + 1])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	if (EVP_Digest(text, strlen(text), digest, &len, EVP_sha256(), NULL) != 1 || len < HASH_BYTES)
		return -EIO;
	for (unsigned i = 0; i < HASH_BYTES; i++)
		snprintf(ret + 2 * (size_t)i, 3, "%02x", digest[i]);
	return 0;
}

char *policy_store_project_path(const char *project)
{
	_cleanup_free_ char *policy = policy_texts_user_path(policy_texts_home(), getenv("XDG_CONFIG_HOME"));
	const char *slash = policy ? strrchr(policy, '/') : NULL, *base = strrchr(project, '/');
	char name[NAME_BYTES + 1], digits[2 * HASH_BYTES + 1], *path = NULL;
	size_t n = 0;

	if (!slash || hash(project, digits) < 0)
		return NULL;
	/* For people who look into the folder; the hash alone decides. */
	for (base = base ? base + 1 : project; *base && n < NAME_BYTES; base++)
		if ((*base >= 'a' && *base <= 'z') || (*base >= 'A' && *base <= 'Z') ||
		    (*base >= '0' && *base <= '9') || *base == '_' || (n > 0 && (*base == '-' || *base == '.')))
			name[n++] = *base;
	name[n] = '\0';
	return asprintf(&path, "%.*s/projects/%s-%s.json", (int)(slash - policy), policy, n ? name : "project",
			digits) < 0
		       ? NULL
		       : path;
}

static int failed(const char *file, int r, const char *what, struct error *e)
{
	return error_set(e, ERROR_INVALID, -r, file, "", "The policy file cannot be %s: %s.", what, strerror(-r));
}

/* What is there, or nothing; never one that others could have written. */
static int read_file(const char *file, struct buffer *ret, mode_t *ret_mode, struct error *e)
{
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t len = 0;
	int r;

	*ret_mode = 0600;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return failed(file, -errno, "read", e);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(e, ERROR_REFUSED, EPERM, file, "Make it a file of yours alone: chmod go-w.",
				 "The policy file is not written to: it is not yours, or others may write to it.");
	r = fd_read_file(fd, LIMIT_POLICY_FILE, &text, &len);
	if (r == 0)
		r = buffer_append(ret, text, len);
	*ret_mode = st.st_mode;
	return r < 0 ? failed(file, r, "read", e) : 0;
}

/* The first line of a project's file: its name tells little. */
static int begin_project(const char *project, struct buffer *text)
{
	_cleanup_buffer_ struct buffer shown = BUFFER_INIT(8 * LIMIT_PATH);
	int r = escape_append(&shown, project, strlen(project));

	if (r == 0)
		r = buffer_append(&shown, "", 1);
	return r < 0 ? r : buffer_printf(text, "// Hosts for sessions in %s\n", shown.data);
}

static void show(const char *file, const char *const *rules, size_t n, const struct buffer *before)
{
	fputs("isoctl: to be added to allowedDomains of ", stderr);
	escape_print(stderr, file);
	fputs(before->len ? ":\n" : " (a new file):\n", stderr);
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "  + %s\n", rules[i]);
}

static int confirm(const char *file, bool yes, struct error *e)
{
	char answer[8];

	if (yes)
		return 0;
	if (!isatty(STDIN_FILENO))
		return error_set(e, ERROR_REFUSED, ECANCELED, file, "Say --yes.",
				 "Nothing was written: there is no terminal to ask on.");
	fputs("Write it? [y/N] ", stderr);
	if (!fgets(answer, sizeof(answer), stdin) || (answer[0] != 'y' && answer[0] != 'Y'))
		return error_set(e, ERROR_REFUSED, ECANCELED, file, "", "Nothing was written.");
	return 0;
}

/* Nobody else has changed it while it was shown. */
static int write_file(const char *file, const struct buffer *before, const struct buffer *after, struct error *e)
{
	_cleanup_buffer_ struct buffer now = BUFFER_INIT(LIMIT_POLICY_FILE);
	_cleanup_close_ int lock = own_file_lock(file);
	mode_t mode;
	int r;

	if (lock < 0)
		return failed(file, lock, "written", e);
	r = read_file(file, &now, &mode, e);
	if (r < 0)
		return r;
	if (now.len != before->len || (now.len && memcmp(now.data, before->data, now.len) != 0))
		return error_set(e, ERROR_REFUSED, EBUSY, file, "Try again.", "The policy file was changed meanwhile.");
	r = own_file_replace(file, after->data, after->len, mode);
	return r < 0 ? failed(file, r, "written", e) : 1;
}

/* Only those that are new are shown, as the edit counts them: the first ones of a list that is made shorter here. */
static size_t pick_new(const char *file, const struct buffer *before, const char *const *rules, size_t n,
		       const char **ret)
{
	size_t n_new = 0;

	for (size_t i = 0; i < n; i++) {
		_cleanup_buffer_ struct buffer ignored = BUFFER_INIT(LIMIT_POLICY_FILE);
		struct error e = ERROR_INIT;
		size_t added = 0;

		if (policy_edit_allow(file, before->data, before->len, &rules[i], 1, &ignored, &added, &e) == 0 &&
		    added)
			ret[n_new++] = rules[i];
	}
	return n_new;
}

int policy_store_allow(const char *file, const char *project, const char *const *rules, size_t n, bool yes,
		       struct error *e)
{
	/* Where it is a link (into a folder of dotfiles) the link stays. */
	_cleanup_free_ char *real = realpath(file, NULL);
	_cleanup_free_ const char **fresh = calloc(n + 1, sizeof(*fresh));
	_cleanup_buffer_ struct buffer before = BUFFER_INIT(LIMIT_POLICY_FILE), after = BUFFER_INIT(LIMIT_POLICY_FILE);
	size_t added = 0, n_fresh;
	mode_t mode;
	int r;

	if (!fresh)
		return failed(file, -ENOMEM, "written", e);
	r = read_file(real ? real : file, &before, &mode, e);
	if (r == 0 && project && before.len == 0)
		r = begin_project(project, &after);
	if (r == 0)
		r = policy_edit_allow(file, before.data ? before.data : "", before.len, rules, n, &after, &added, e);
	if (r < 0 || added == 0)
		return r;
	n_fresh = pick_new(file, &before, rules, n, fresh);
	show(file, fresh, n_fresh, &before);
	r = confirm(file, yes, e);
	if (r == 0 && !real) {
		r = own_file_make_folders(file);
		if (r < 0)
			return failed(file, r, "written", e);
	}
	return r < 0 ? r : write_file(real ? real : file, &before, &after, e);
}
