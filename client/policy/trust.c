#include "client/policy/trust.h"

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
#include "client/own_file.h"
#include "client/policy/policy_texts.h"
#include "json/bytes.h"
#include "json/value.h"
#include "json/write.h"

#define FORMAT 1

char *trust_path(void)
{
	char *policy = policy_texts_user_path(policy_texts_home(), getenv("XDG_CONFIG_HOME"));
	const char *slash = policy ? strrchr(policy, '/') : NULL;
	char *path = NULL;

	if (slash && asprintf(&path, "%.*s/trust.json", (int)(slash - policy), policy) < 0)
		path = NULL;
	free(policy);
	return path;
}

static int no_memory(struct error *e)
{
	return error_set(e, ERROR_INTERNAL, ENOMEM, "trust", "", "There is no memory left.");
}

static int bad_file(const char *path, struct error *e)
{
	return error_set(e, ERROR_INVALID, EBADMSG, path,
			 "Remove the file and trust your repositories and policies again.",
			 "This file is not one that isoctl trust has written.");
}

static bool has_string(const struct json_value *v, const char *name)
{
	const struct json_value *member = json_get(v, name);

	return member && member->type == JSON_STRING && strlen(member->string.data) == member->string.len;
}

static bool has_integer(const struct json_value *v, const char *name)
{
	const struct json_value *member = json_get(v, name);

	return member && member->type == JSON_INTEGER;
}

/* An item with room made for it. */
static struct trust_repository *append(struct trust *t)
{
	struct trust_repository *grown = reallocarray(t->items, t->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	t->items = grown;
	grown[t->count] = (struct trust_repository){ .path = NULL };
	return &grown[t->count++];
}

/* A path's bytes: names need not be UTF-8. */
static int decode_path(const struct json_value *v, const char *name, char **ret)
{
	const struct json_value *member = json_get(v, name);
	_cleanup_free_ char *path = malloc(member->string.len + 1);

	if (!path)
		return -ENOMEM;
	if (json_bytes_decode(member->string.data, member->string.len, path) < 0)
		return -EBADMSG;
	*ret = take_ptr(path);
	return 0;
}

static int decode_repository(const struct json_value *v, struct trust *t)
{
	struct trust_repository *item;
	int r;

	if (!has_string(v, "path") || !has_integer(v, "device") || !has_integer(v, "inode") || !has_integer(v, "born"))
		return -EBADMSG;
	item = append(t);
	if (!item)
		return -ENOMEM;
	item->identity.device = (uint64_t)json_get(v, "device")->integer;
	item->identity.inode = (uint64_t)json_get(v, "inode")->integer;
	item->identity.born = json_get(v, "born")->integer;
	r = decode_path(v, "path", &item->path);
	if (r == 0 && has_string(v, "workTree"))
		r = decode_path(v, "workTree", &item->work_tree);
	return r;
}

static struct trust_policy *append_policy(struct trust *t)
{
	struct trust_policy *grown = reallocarray(t->policies, t->n_policies + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	t->policies = grown;
	grown[t->n_policies] = (struct trust_policy){ .path = NULL };
	return &grown[t->n_policies++];
}

static int decode_policy(const struct json_value *v, struct trust *t)
{
	struct trust_policy *item;

	if (!has_string(v, "path") || !has_string(v, "sha256") ||
	    json_get(v, "sha256")->string.len != TRUST_DIGEST_SIZE - 1)
		return -EBADMSG;
	item = append_policy(t);
	if (!item)
		return -ENOMEM;
	memcpy(item->digest, json_get(v, "sha256")->string.data, TRUST_DIGEST_SIZE);
	return decode_path(v, "path", &item->path);
}

/* Older ones have no such list. */
static int decode_policies(const struct json_value *list, struct trust *t)
{
	int r = 0;

	if (!list)
		return 0;
	if (list->type != JSON_ARRAY || list->array.count > TRUST_POLICIES_MAX)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < list->array.count; i++)
		r = decode_policy(&list->array.items[i], t);
	return r;
}

static int decode(const char *text, size_t len, struct trust *ret)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	const struct json_value *list;
	int r = json_read(text, len, 0, &d, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	list = json_get(d.root, "repositories");
	if (!has_integer(d.root, "version") || json_get(d.root, "version")->integer != FORMAT || !list ||
	    list->type != JSON_ARRAY || list->array.count > TRUST_REPOSITORIES_MAX)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < list->array.count; i++)
		r = decode_repository(&list->array.items[i], ret);
	return r < 0 ? r : decode_policies(json_get(d.root, "policies"), ret);
}

int trust_read(const char *path, struct trust *ret, struct error *e)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t len;
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(e, ERROR_INVALID, errno, path, "", "The list of what is trusted cannot be read: %s.",
				 strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(e, ERROR_REFUSED, EPERM, path, "Make it yours alone: chmod 600.",
				 "The list of what is trusted is not believed: others may write to it.");
	r = fd_read_file(fd, TRUST_FILE_MAX, &text, &len);
	if (r == 0)
		r = decode(text, len, ret);
	if (r < 0)
		trust_done(ret);
	if (r == -ENOMEM)
		return no_memory(e);
	return r < 0 ? bad_file(path, e) : 0;
}

void trust_done(struct trust *t)
{
	while (t->count > 0) {
		struct trust_repository *last = &t->items[--t->count];

		free(last->path);
		free(last->work_tree);
	}
	free(t->items);
	t->items = NULL;
	while (t->n_policies > 0)
		free(t->policies[--t->n_policies].path);
	free(t->policies);
	t->policies = NULL;
}

bool trust_has(const struct trust *t, const char *path, const struct git_identity *identity, const char *work_tree)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct trust_repository *item = &t->items[i];

		if (strcmp(item->path, path) == 0 && git_identity_is_same(&item->identity, identity) &&
		    (work_tree ? item->work_tree && strcmp(item->work_tree, work_tree) == 0 : !item->work_tree))
			return true;
	}
	return false;
}

static int encode(const struct trust *t, struct buffer *out)
{
	struct json_writer *w = json_write_new(out);

	json_write_object(w);
	json_write_member_integer(w, "version", FORMAT);
	json_write_key(w, "repositories");
	json_write_array(w);
	for (size_t i = 0; i < t->count; i++) {
		const struct trust_repository *item = &t->items[i];

		json_write_object(w);
		json_write_member_string(w, "path", item->path);
		json_write_member_integer(w, "device", (int64_t)item->identity.device);
		json_write_member_integer(w, "inode", (int64_t)item->identity.inode);
		json_write_member_integer(w, "born", item->identity.born);
		if (item->work_tree)
			json_write_member_string(w, "workTree", item->work_tree);
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_key(w, "policies");
	json_write_array(w);
	for (size_t i = 0; i < t->n_policies; i++) {
		json_write_object(w);
		json_write_member_string(w, "path", t->policies[i].path);
		json_write_member_string(w, "sha256", t->policies[i].digest);
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_object_end(w);
	return json_write_finish(w);
}

static int cannot_write(const char *file, int r, struct error *e)
{
	return error_set(e, ERROR_INVALID, -r, file, "", "The list of what is trusted cannot be written: %s.",
			 strerror(-r));
}

static void take_out(struct trust *t, size_t i)
{
	free(t->items[i].path);
	free(t->items[i].work_tree);
	memmove(&t->items[i], &t->items[i + 1], (t->count - i - 1) * sizeof(t->items[0]));
	t->count--;
}

/* Takes out what the new entry replaces; new NULL: all entries of path. How many went. */
static int take_out_all(struct trust *t, const char *path, const struct trust_repository *new)
{
	int n = 0;

	for (size_t i = t->count; i > 0; i--) {
		const struct trust_repository *item = &t->items[i - 1];
		const char *tree = item->work_tree ? item->work_tree : "";

		if (strcmp(item->path, path) != 0 || (new &&git_identity_is_same(&item->identity, &new->identity) &&
						      strcmp(tree, new->work_tree ? new->work_tree : "") != 0))
			continue;
		take_out(t, i - 1);
		n++;
	}
	return n;
}

static int write_file(const char *file, const struct trust *t, struct error *e)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(TRUST_FILE_MAX);
	int r = encode(t, &text);

	if (r == 0)
		r = own_file_replace(file, text.data, text.len, 0600);
	return r < 0 ? cannot_write(file, r, e) : 0;
}

/* The file's content, and a lock that keeps other isoctls out. The lock or -errno. */
static int begin_change(const char *file, struct trust *t, struct error *e)
{
	int r = own_file_make_folders(file), lock = r < 0 ? r : own_file_lock(file);

	if (lock < 0)
		return cannot_write(file, lock, e);
	r = trust_read(file, t, e);
	if (r < 0)
		fd_close(lock);
	return r < 0 ? r : lock;
}

/* new: NULL to take path out. Its strings are copied. */
static int change(const char *file, const char *path, const struct trust_repository *new, struct error *e)
{
	_cleanup_trust_ struct trust t = TRUST_INIT;
	_cleanup_close_ int lock = begin_change(file, &t, e);
	struct trust_repository *item;
	int n, r;

	if (lock < 0)
		return lock;
	n = take_out_all(&t, path, new);
	if (!new &&n == 0)
		return 0;
	if (new) {
		if (t.count >= TRUST_REPOSITORIES_MAX)
			return cannot_write(file, -E2BIG, e);
		item = append(&t);
		if (!item)
			return no_memory(e);
		item->identity = new->identity;
		item->path = strdup(path);
		item->work_tree = new->work_tree ? strdup(new->work_tree) : NULL;
		if (!item->path || (new->work_tree && !item->work_tree))
			return no_memory(e);
	}
	r = write_file(file, &t, e);
	return r < 0 ? r : n > 0;
}

int trust_add(const char *file, const char *path, const struct git_identity *identity, const char *work_tree,
	      struct error *e)
{
	const struct trust_repository new = { .identity = *identity, .work_tree = (char *)work_tree };
	int r = change(file, path, &new, e);

	return r < 0 ? r : 0;
}

int trust_remove(const char *file, const char *path, struct error *e)
{
	return change(file, path, NULL, e);
}

/* Policy files */

int trust_digest(const char *text, size_t len, char ret[TRUST_DIGEST_SIZE])
{
	unsigned char hash[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (EVP_Digest(text, len, hash, &n, EVP_sha256(), NULL) != 1 || 2 * n != TRUST_DIGEST_SIZE - 1)
		return -EIO;
	for (unsigned i = 0; i < n; i++)
		snprintf(ret + 2 * (size_t)i, 3, "%02x", hash[i]);
	return 0;
}

bool trust_has_policy(const struct trust *t, const char *digest)
{
	for (size_t i = 0; i < t->n_policies; i++)
		if (strcmp(t->policies[i].digest, digest) == 0)
			return true;
	return false;
}

/* How many went. */
static int take_out_policies(struct trust *t, const char *digest, const char *path)
{
	size_t kept = 0, n = t->n_policies;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(t->policies[i].digest, digest) == 0 || strcmp(t->policies[i].path, path) == 0)
			free(t->policies[i].path);
		else
			t->policies[kept++] = t->policies[i];
	}
	t->n_policies = kept;
	return (int)(n - kept);
}

int trust_add_policy(const char *file, const char *digest, const char *path, struct error *e)
{
	_cleanup_trust_ struct trust t = TRUST_INIT;
	_cleanup_close_ int lock = begin_change(file, &t, e);
	struct trust_policy *item;

	if (lock < 0)
		return lock;
	/* What the file held before is trusted no longer. */
	take_out_policies(&t, digest, path);
	if (t.n_policies >= TRUST_POLICIES_MAX)
		return cannot_write(file, -E2BIG, e);
	item = append_policy(&t);
	if (!item)
		return no_memory(e);
	snprintf(item->digest, sizeof(item->digest), "%s", digest);
	item->path = strdup(path);
	return item->path ? write_file(file, &t, e) : no_memory(e);
}

int trust_remove_policy(const char *file, const char *digest, const char *path, struct error *e)
{
	_cleanup_trust_ struct trust t = TRUST_INIT;
	_cleanup_close_ int lock = begin_change(file, &t, e);
	int r;

	if (lock < 0)
		return lock;
	if (take_out_policies(&t, digest, path) == 0)
		return 0;
	r = write_file(file, &t, e);
	return r < 0 ? r : 1;
}
