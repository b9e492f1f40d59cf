#include "daemon/control/plan/policy_merge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "proto/schema.h"

#define FILE_NAME "policy.json"
#define SHOWN_PATH "/etc/isod/" FILE_NAME

static int unusable(struct error *e, int err, const char *remedy, const char *what)
{
	return error_set(e, ERROR_POLICY, err, SHOWN_PATH, remedy, "The administrator's policy %s.", what);
}

/* Whoever can write it can open every sandbox of this machine. */
static int check_owner(int fd, struct error *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return unusable(e, errno, NULL, "cannot be examined");
	if (!S_ISREG(st.st_mode))
		return unusable(e, EINVAL, "Make it a regular file.", "is no regular file");
	if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return unusable(e, EPERM, "chown root, chmod 644.", "can be written by others than root");
	return 0;
}

int policy_merge_administrator(int config_fd, char **ret, struct error *e)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	size_t len;
	int r;

	*ret = NULL;
	if (fstat(config_fd, &st) < 0)
		return unusable(e, errno, NULL, "cannot be examined");
	if (!S_ISDIR(st.st_mode))
		return 0;
	fd = openat(config_fd, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return unusable(e, errno, "Make it a regular file that everybody may read.", "cannot be opened");
	r = check_owner(fd, e);
	if (r < 0)
		return r;
	r = fd_read_file(fd, LIMIT_POLICY_FILE, ret, &len);
	if (r < 0)
		return unusable(e, -r, NULL, "cannot be read");
	return strlen(*ret) == len ? 0 : unusable(e, EILSEQ, NULL, "has a NUL byte in it");
}

/* The layers that a client may send, in their order. */
static const struct {
	const char *name;
	enum policy_layer_kind kind;
	bool trusted;
} client_layers[] = {
	{ "user", POLICY_USER },
	{ "file", POLICY_FILE },
	{ "trusted-file", POLICY_FILE, .trusted = true },
	{ "command-line", POLICY_COMMAND_LINE },
};

static int take_client(const struct json_objects *texts, struct policy_input *layers, size_t *n, struct error *e)
{
	const struct schema_policy *given = texts->items;
	enum policy_layer_kind last = POLICY_BUILT_IN;
	size_t bytes = 0;

	for (size_t i = 0; i < texts->count; i++) {
		size_t k = 0, len = strlen(given[i].text);

		bytes += len;
		if (bytes > LIMIT_POLICY_CALL)
			return error_set(e, ERROR_LIMIT, E2BIG, "policies",
					 "Keep long lists of rules in the administrator's policy.",
					 "The policies of one call may have at most %u bytes together.",
					 LIMIT_POLICY_CALL);

		while (k < ARRAY_SIZE(client_layers) && strcmp(client_layers[k].name, given[i].layer) != 0)
			k++;
		if (k == ARRAY_SIZE(client_layers))
			return error_set(e, ERROR_INVALID, EINVAL, "policies", NULL,
					 "A client may send the layers user, file, trusted-file and command-line.");
		if (client_layers[k].kind < last)
			return error_set(e, ERROR_INVALID, EINVAL, "policies", NULL,
					 "The layers must come in the order user, file, command-line.");
		last = client_layers[k].kind;
		layers[(*n)++] = (struct policy_input){
			.layer = client_layers[k].kind,
			.path = given[i].path,
			.text = given[i].text,
			.len = len,
			.trusted = client_layers[k].trusted,
		};
	}
	return 0;
}

int policy_merge_texts(const char *administrator, const struct json_objects *texts, struct policy *ret, struct error *e)
{
	struct policy_input layers[LIMIT_POLICY_LAYERS + 1];
	size_t n = 0;
	int r;

	if (texts->count > LIMIT_POLICY_LAYERS)
		return error_set(e, ERROR_LIMIT, E2BIG, "policies", NULL, "More than %d policies were sent.",
				 LIMIT_POLICY_LAYERS);
	if (administrator)
		layers[n++] = (struct policy_input){ .layer = POLICY_ADMINISTRATOR,
						     .path = SHOWN_PATH,
						     .text = administrator,
						     .len = strlen(administrator) };
	r = take_client(texts, layers, &n, e);
	return r < 0 ? r : policy_load(layers, n, ret, e);
}

int policy_merge(int config_fd, const struct json_objects *texts, struct policy *ret, struct error *e)
{
	_cleanup_free_ char *administrator = NULL;
	int r = policy_merge_administrator(config_fd, &administrator, e);

	return r < 0 ? r : policy_merge_texts(administrator, texts, ret, e);
}
