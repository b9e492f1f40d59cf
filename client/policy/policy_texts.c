#include "client/policy/policy_texts.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/policy/policy_store.h"
#include "client/policy/trust.h"
#include "json/write.h"

int policy_texts_add_text(struct policy_texts *t, enum policy_layer_kind layer, const char *path, const char *text,
			  size_t len, struct error *e)
{
	if (t->count == LIMIT_POLICY_LAYERS)
		return error_set(e, ERROR_LIMIT, E2BIG, "policy", "Join some of the files.",
				 "There are more than %d policy files.", LIMIT_POLICY_LAYERS);
	t->inputs[t->count++] = (struct policy_input){ .layer = layer, .path = path, .text = text, .len = len };
	return 0;
}

/* Reads a regular file; never waits for a fifo, never takes a terminal. */
static int read_file(const char *path, char **ret, size_t *ret_len)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return fd_read_file(fd, LIMIT_POLICY_FILE, ret, ret_len);
}

/* Whether the user has confirmed the very bytes that were read. */
static int look_up_trust(struct policy_input *input, struct error *e)
{
	_cleanup_trust_ struct trust trust = TRUST_INIT;
	_cleanup_free_ char *file = trust_path();
	char digest[TRUST_DIGEST_SIZE];
	int r = file ? trust_read(file, &trust, e) : 0;

	if (r < 0)
		return r;
	if (trust_digest(input->text, input->len, digest) < 0)
		return error_set(e, ERROR_INTERNAL, EIO, input->path, "", "The SHA-256 of this file cannot be made.");
	input->trusted = trust_has_policy(&trust, digest);
	return 0;
}

int policy_texts_add_file(struct policy_texts *t, enum policy_layer_kind layer, const char *path, struct error *e)
{
	char *text = NULL, *name;
	size_t len = 0;
	int r = read_file(path, &text, &len);

	if (r < 0)
		return error_set(e, ERROR_POLICY, -r, path, "", "This policy file cannot be read: %s.",
				 r == -EFBIG    ? "it is too large"
				 : r == -EINVAL ? "it is no regular file"
						: strerror(-r));
	/* At most one file more than there may be layers comes here. */
	t->owned[t->n_owned++] = text;
	name = t->owned[t->n_owned++] = strdup(path);
	if (!name)
		return error_set(e, ERROR_INTERNAL, ENOMEM, path, "", "There is no memory left.");
	r = policy_texts_add_text(t, layer, name, text, len, e);
	return r < 0 || layer != POLICY_FILE ? r : look_up_trust(&t->inputs[t->count - 1], e);
}

char *policy_texts_user_path(const char *home, const char *config_home)
{
	size_t len = strlen(home);
	bool below = config_home && len > 1 && strncmp(config_home, home, len) == 0 && config_home[len] == '/' &&
		     !strstr(config_home, "/../");
	char *path = NULL;
	int n;

	if (home[0] != '/')
		return NULL;
	n = below ? asprintf(&path, "%s/isod/policy.json", config_home)
		  : asprintf(&path, "%s/.config/isod/policy.json", home);
	return n < 0 ? NULL : path;
}

const char *policy_texts_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user;

	if (home && home[0] == '/')
		return home;
	user = getpwuid(geteuid());
	return user && user->pw_dir ? user->pw_dir : "/";
}

/* Only absence is no error: a policy that is there and cannot be read must not be left out in silence. */
static int add_if_there(struct policy_texts *t, const char *path, struct error *e)
{
	struct stat st;

	if (path && (stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR)))
		return policy_texts_add_file(t, POLICY_USER, path, e);
	return 0;
}

int policy_texts_collect(struct policy_texts *t, const char *project, const struct option_list *files, struct error *e)
{
	_cleanup_free_ char *user = policy_texts_user_path(policy_texts_home(), getenv("XDG_CONFIG_HOME"));
	_cleanup_free_ char *own = project ? policy_store_project_path(project) : NULL;
	int r = add_if_there(t, user, e);

	if (r == 0)
		r = add_if_there(t, own, e);
	for (size_t i = 0; r == 0 && files && i < files->count; i++)
		r = policy_texts_add_file(t, POLICY_FILE, files->items[i], e);
	return r;
}

void policy_texts_done(struct policy_texts *t)
{
	while (t->n_owned > 0)
		free(t->owned[--t->n_owned]);
	t->count = 0;
}

void policy_texts_write(const struct policy_texts *t, struct json_writer *w)
{
	json_write_key(w, "policies");
	json_write_array(w);
	for (size_t i = 0; i < t->count; i++) {
		json_write_object(w);
		json_write_member_string(w, "layer",
					 t->inputs[i].trusted ? "trusted-file" : policy_layer_name(t->inputs[i].layer));
		json_write_member_string(w, "path", t->inputs[i].path);
		json_write_key(w, "text");
		json_write_bytes(w, t->inputs[i].text, t->inputs[i].len);
		json_write_object_end(w);
	}
	json_write_array_end(w);
}
