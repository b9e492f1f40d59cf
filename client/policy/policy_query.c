#include "client/policy/policy_query.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/listing.h"
#include "client/policy/policy_git.h"
#include "client/policy/policy_texts.h"
#include "client/run/run_directory.h"
#include "view/path_token.h"

/* Appends the parts of rest, of which none is there, to what is. */
static int append_absent(char *path, size_t size, const char *rest)
{
	size_t len = strlen(path);

	if (len == 1)
		len = 0;
	while (*rest) {
		size_t n = strcspn(rest, "/");

		if (n == 2 && memcmp(rest, "..", 2) == 0)
			return -ENOENT;
		if (n > 0 && !(n == 1 && rest[0] == '.')) {
			if (len + n + 2 > size)
				return -ENAMETOOLONG;
			path[len++] = '/';
			memcpy(path + len, rest, n);
			len += n;
		}
		rest += n;
		rest += *rest == '/';
	}
	path[len > 0 ? len : 1] = '\0';
	return 0;
}

int policy_query_real(const char *path, char **ret)
{
	_cleanup_free_ char *head = strdup(path);
	char real[PATH_MAX + 1];
	size_t len = strlen(path);
	int r;

	if (!head)
		return -ENOMEM;
	/* The longest part that can be followed; "/" always can. */
	while (!realpath(head, real)) {
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			return -errno;
		while (len > 0 && head[len - 1] == '/')
			len--;
		while (len > 0 && head[len - 1] != '/')
			len--;
		if (len == 0)
			return -ENOENT;
		head[len] = '\0';
	}
	r = append_absent(real, sizeof(real), path + len);
	if (r < 0)
		return r;
	*ret = strdup(real);
	return *ret ? 0 : -ENOMEM;
}

/* A file that cannot be read counts as one with a secret. */
static bool has_token(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	_cleanup_free_ char *head = malloc(PATH_TOKEN_HEAD);
	size_t n = 0;
	ssize_t got = 1;
	char more;

	if (fd < 0 || !head)
		return true;
	while (got > 0 && n < PATH_TOKEN_HEAD) {
		got = read(fd, head + n, PATH_TOKEN_HEAD - n);
		n += got > 0 ? (size_t)got : 0;
	}
	return got < 0 || path_token_found(path, head, n, got == 0 || read(fd, &more, 1) == 0);
}

static const char *kind_of(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return NULL;
	if (S_ISDIR(st.st_mode))
		return "folder";
	return S_ISREG(st.st_mode) && !has_token(path) ? "file-without-token" : "file";
}

/* "~/x" is below home, as in a policy: a shell does not see it in --read=~/x. */
static int find_path(const char *typed, const char *cwd, const char *home, char **ret, struct error *e)
{
	_cleanup_free_ char *absolute = NULL;
	bool at_home = home && typed[0] == '~' && (typed[1] == '/' || typed[1] == '\0');
	const char *base = typed[0] == '/' ? "" : at_home ? home : cwd;
	int r;

	if (typed[0] == '\0')
		return error_set(e, ERROR_INVALID, EINVAL, "path", NULL, "The path is empty.");
	if (asprintf(&absolute, "%s%s%s", base, typed[0] == '/' ? "" : "/", typed + at_home) < 0) {
		absolute = NULL;
		return error_set(e, ERROR_INTERNAL, ENOMEM, "path", NULL, "There is no memory left.");
	}
	r = policy_query_real(absolute, ret);
	if (r < 0)
		return error_set(e, ERROR_INVALID, -r, "path", NULL, "The path %s leads nowhere: %s.", typed,
				 strerror(-r));
	return 0;
}

static int send_question(const struct client *client, const struct policy_texts *texts,
			 const struct run_directory *directory, const char *path, struct call *call, struct error *e)
{
	struct json_writer *w = call_begin(call, "org.isod.PolicyTest", 0);
	const char *kind = kind_of(path);
	int r;

	policy_texts_write(texts, w);
	run_directory_write(directory, w);
	json_write_key(w, "path");
	json_write_bytes(w, path, strlen(path));
	if (kind)
		json_write_member_string(w, "kind", kind);
	r = call_send(call, client, e);
	return r < 0 ? r : call_reply(call, CALL_TIMEOUT_MS, e);
}

int policy_query(const struct client *client, const struct option_list *policy, const char *typed, struct call *call,
		 struct error *e)
{
	_cleanup_free_ char *path = NULL;
	struct policy_texts texts = { .count = 0 };
	struct run_directory directory = { 0 };
	int r = run_directory_find(getenv("PWD"), &directory, e);
	/* As the daemon, which knows no variable of this shell. */
	const struct passwd *user = r == 0 ? getpwuid(geteuid()) : NULL;

	if (user)
		run_directory_add_home(user->pw_dir, &directory);
	if (r == 0)
		r = find_path(typed, directory.cwd, user ? user->pw_dir : NULL, &path, e);
	if (r == 0)
		r = policy_texts_collect(&texts, directory.cwd, policy, e);
	if (r == 0)
		r = policy_git_add(&texts, directory.cwd, NULL, NULL, NULL, e);
	if (r == 0 && path)
		r = send_question(client, &texts, &directory, path, call, e);
	policy_texts_done(&texts);
	run_directory_done(&directory);
	return r;
}

int policy_query_append_rule(struct buffer *out, const struct json_value *rule)
{
	const struct json_value *text = json_get(rule, "text");
	bool has_text = text && text->type == JSON_STRING && text->string.len > 0;
	int r = listing_append(out, json_get(rule, "effect"));

	if (r == 0)
		r = buffer_append_string(out, " ");
	if (r == 0)
		r = listing_append(out, has_text ? text : json_get(rule, "pattern"));
	if (r == 0)
		r = buffer_append_string(out, "  (");
	if (r == 0)
		r = listing_append(out, json_get(rule, "key"));
	if (r == 0)
		r = buffer_append_string(out, ", ");
	if (r == 0)
		r = listing_append(out, json_get(rule, "from"));
	return r < 0 ? r : buffer_append_string(out, ")");
}

static bool is_text(const struct json_value *v, const char *text)
{
	return v && v->type == JSON_STRING && strcmp(v->string.data, text) == 0;
}

const struct json_value *policy_query_decider(const struct json_value *rules, bool write)
{
	for (size_t i = 0; i < rules->array.count; i++) {
		const struct json_value *rule = &rules->array.items[i];

		if (is_text(json_get(rule, "state"), "decides") &&
		    (write || !is_text(json_get(rule, "effect"), "deny-write")))
			return rule;
	}
	return NULL;
}
