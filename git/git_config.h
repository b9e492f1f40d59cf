#ifndef ISOD_GIT_GIT_CONFIG_H
#define ISOD_GIT_GIT_CONFIG_H
/*
 * Reads the text of a git configuration file as data, variable by variable. Nothing is followed (include.path is a
 * variable like any other) and nothing is allocated: what is longer than the reader's own memory is an error.
 */
#include <stddef.h>

/* git has no bound; real names have a few dozen bytes, subsections are URLs and branches, values commands and paths. */
#define GIT_CONFIG_NAME_MAX 128
#define GIT_CONFIG_SUBSECTION_MAX 1024
#define GIT_CONFIG_VALUE_MAX 8192

struct git_config {
	const char *at;
	const char *end;
	unsigned line; /* 1-based, of what is read next */
	char section[GIT_CONFIG_NAME_MAX];
	char subsection[GIT_CONFIG_SUBSECTION_MAX];
	char key[GIT_CONFIG_NAME_MAX];
	char value[GIT_CONFIG_VALUE_MAX];
};

struct git_config_entry {
	const char *section;    /* lower case; "" before the first header */
	const char *subsection; /* as written; "" = none. Lower case in the old form [section.subsection] */
	const char *key;        /* lower case */
	const char *value;      /* NULL: written without "=", which means true */
	unsigned line;
};

/* Borrows text, which needs no NUL. */
void git_config_begin(struct git_config *c, const char *text, size_t len);

/* 1 and *ret, whose strings live in c until the next call; 0 at the end; -EBADMSG where git would complain of the line
 * c->line, or at a NUL; -EMSGSIZE for a name or a value that is too long. After an error: the same again. */
int git_config_next(struct git_config *c, struct git_config_entry *ret);

/* As git reads a boolean: 1, 0; -EINVAL where the value is none. */
int git_config_bool(const char *value);

#endif
