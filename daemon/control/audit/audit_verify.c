#include "daemon/control/audit/audit_verify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "daemon/control/audit/audit.h"

#define CHUNK (256U << 10)

void audit_verify_tell(struct audit_verify *v, const char *id, const char *state, uint64_t line, const char *text)
{
	struct audit_finding *f;

	if (!v->findings)
		v->findings = calloc(AUDIT_FINDINGS_MAX, sizeof(*v->findings));
	if (!v->findings || v->n_findings == AUDIT_FINDINGS_MAX) {
		v->n_more++;
		return;
	}
	f = &v->findings[v->n_findings++];
	memcpy(f->id, id, strnlen(id, ISOD_ID_LEN));
	f->state = state;
	f->text = text;
	f->line = line;
}

static const char *fault_text(enum audit_fault fault)
{
	static const char *const texts[] = {
		[AUDIT_FAULT_EDITED] = "The line is not as it was written.",
		[AUDIT_FAULT_CUT] = "Lines are missing from here on.",
		[AUDIT_FAULT_REORDERED] = "Lines stand in another order than they were written.",
		[AUDIT_FAULT_FOREIGN] = "The line is none of this log's.",
		[AUDIT_FAULT_ADDED] = "From here on something stands in the file that isod did not write.",
	};

	return texts[fault];
}

/* The record of one that has ended. False, and told, where the index does not have it. */
static bool look_up(struct audit_verify *v, struct audit_subject *s)
{
	struct audit_record record;
	uint8_t data[AUDIT_RECORD_SIZE];

	if (s->open)
		return true;
	if (pread(v->index_fd, data, sizeof(data), (off_t)(s->place * AUDIT_RECORD_SIZE)) != sizeof(data) ||
	    audit_record_read(data, &record) < 0 || strcmp(record.id, s->id) != 0) {
		audit_verify_tell(v, s->id, "index", 0, "The index does not say any more what the session wrote.");
		return false;
	}
	if (record.flags & AUDIT_RECORD_SHORT)
		audit_verify_tell(v, s->id, audit_fault_name(AUDIT_FAULT_CUT), record.lines + 1,
				  "Lines that had been written were missing when isod was started anew.");
	s->head.seq = record.lines;
	s->bytes = record.bytes;
	memcpy(s->head.hash, record.hash, sizeof(s->head.hash));
	memcpy(s->origin, record.origin, sizeof(s->origin));
	return true;
}

/* Of one that is open no more than was written then. */
static int read_file(int fd, const struct audit_subject *s, struct audit_check *check, char *data)
{
	int r = 0;

	while (r == 0) {
		size_t left = s->open ? (size_t)(s->bytes - check->read) : CHUNK;
		ssize_t n = pread(fd, data, left < CHUNK ? left : CHUNK, (off_t)check->read);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		r = audit_check_read(check, data, (size_t)n);
	}
	return r;
}

static void check_file(struct audit_verify *v, struct audit_subject *s, char *data)
{
	_cleanup_close_ int fd = audit_open_for_reading(v->dir_fd, s->id);
	struct audit_check check;
	int r;

	v->sessions++;
	if (!look_up(v, s))
		return;
	if (fd < 0) {
		if (fd == -ENOENT)
			audit_verify_tell(v, s->id, "missing", 0, "The whole file was removed, not by isod.");
		else
			audit_verify_tell(v, s->id, "unreadable", 0, "The file cannot be opened.");
		return;
	}
	audit_check_begin(&check, s->origin);
	r = read_file(fd, s, &check, data);
	audit_check_end(&check, &s->head, false);
	if (check.fault == AUDIT_FAULT_NONE && check.read != check.bytes) {
		check.fault = AUDIT_FAULT_ADDED;
		check.fault_line = check.lines + 1;
	}
	v->lines += check.lines;
	v->bytes += check.read;
	if (r < 0)
		audit_verify_tell(v, s->id, "unreadable", check.lines + 1, "The file cannot be read.");
	else if (check.fault != AUDIT_FAULT_NONE)
		audit_verify_tell(v, s->id, audit_fault_name(check.fault), check.fault_line, fault_text(check.fault));
	audit_check_done(&check);
}

struct walk {
	uint64_t place, number;
	uint8_t head[AUDIT_HASH_SIZE];
	bool broken, anchored;
};

static void check_record(struct audit_verify *v, struct walk *w, const uint8_t *data)
{
	struct audit_record r = { .kind = 0 };
	bool fits = audit_record_read(data, &r) == 0;

	if (fits && w->place == 0)
		fits = r.kind == AUDIT_RECORD_BEGIN;
	else if (fits)
		fits = r.number == w->number + 1 && memcmp(r.prev, w->head, sizeof(r.prev)) == 0;
	if (!fits && !w->broken)
		audit_verify_tell(v, "", "index", w->place + 1,
				  "The index is not as it was written, from this record on.");
	w->broken = w->broken || !fits;
	w->number = r.number;
	w->place++;
	if (audit_hash(data, AUDIT_RECORD_SIZE, w->head) < 0)
		v->error = -EIO;
	if (fits && r.number == v->anchor_number)
		w->anchored = memcmp(w->head, v->anchor_hash, sizeof(w->head)) == 0;
}

static void check_index(struct audit_verify *v, char *data)
{
	struct walk w = { 0 };

	while (w.place < v->count) {
		size_t left = (size_t)(v->count - w.place) * AUDIT_RECORD_SIZE;
		ssize_t n = pread(v->index_fd, data, left < CHUNK ? left : CHUNK, (off_t)(w.place * AUDIT_RECORD_SIZE));

		if (n < AUDIT_RECORD_SIZE)
			break;
		for (ssize_t at = 0; at + AUDIT_RECORD_SIZE <= n; at += AUDIT_RECORD_SIZE)
			check_record(v, &w, (const uint8_t *)data + at);
	}
	if (!w.broken && (w.place != v->count || memcmp(w.head, v->head, sizeof(w.head)) != 0))
		audit_verify_tell(v, "", "index", w.place, "The index does not end as isod has written it.");
	if (v->anchor_number > 0 && !w.anchored)
		audit_verify_tell(
			v, "", "anchor", v->anchor_number,
			"The index has no record with this number and hash: it was forged, or written anew since.");
}

static int by_id(const void *a, const void *b)
{
	const struct audit_subject *x = a, *y = b;

	return strcmp(x->id, y->id);
}

/* Subjects are all there are, then. */
static void find_strangers(struct audit_verify *v)
{
	int fd = openat(v->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		fd_close(fd);
		v->error = -EIO;
		return;
	}
	if (v->n_subjects > 1)
		qsort(v->subjects, v->n_subjects, sizeof(*v->subjects), by_id);
	while ((entry = readdir(dir))) {
		struct audit_subject key = { .id = "" };

		if (strlen(entry->d_name) != ISOD_ID_LEN + strlen(AUDIT_SUFFIX) ||
		    strcmp(entry->d_name + ISOD_ID_LEN, AUDIT_SUFFIX) != 0)
			continue;
		memcpy(key.id, entry->d_name, ISOD_ID_LEN);
		if (v->n_subjects == 0 || !bsearch(&key, v->subjects, v->n_subjects, sizeof(key), by_id))
			audit_verify_tell(v, key.id, "unknown", 0,
					  "The index does not know the file: isod did not write it.");
	}
}

void audit_verify_run(struct audit_verify *v)
{
	_cleanup_free_ char *data = malloc(CHUNK);

	if (!data) {
		v->error = -ENOMEM;
		return;
	}
	check_index(v, data);
	for (size_t i = 0; i < v->n_subjects; i++)
		check_file(v, &v->subjects[i], data);
	if (v->strangers)
		find_strangers(v);
}

void audit_verify_done(struct audit_verify *v)
{
	v->dir_fd = fd_close(v->dir_fd);
	v->index_fd = fd_close(v->index_fd);
	free(v->subjects);
	free(v->findings);
	v->subjects = NULL;
	v->findings = NULL;
	v->n_subjects = v->n_findings = 0;
}
