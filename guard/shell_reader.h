#ifndef ISOD_GUARD_SHELL_READER_H
#define ISOD_GUARD_SHELL_READER_H
/* What the files of the shell parser share: the place in one text, and what is open there. */
#include <stdint.h>

#include "base/buffer.h"
#include "guard/shell.h"

struct shell_heredoc {
	struct shell_heredoc *next;
	const char *delimiter;
	size_t delimiter_len;
	bool literal;    /* the delimiter was quoted: nothing in the body is expanded */
	bool strip_tabs; /* <<- */
	size_t command;  /* whose input it is: its number in the script; SIZE_MAX: of a compound command */
};

struct shell_reader {
	struct shell_script *script;
	const char *text;
	size_t len;
	size_t at;
	const struct shell_via *via;
	bool inner; /* the text is not the one that was given: commands get from and to */
	size_t from, to;
	struct shell_heredoc *pending; /* their bodies follow the next newline, the oldest first */
	struct shell_heredoc **pending_end;
	bool piped; /* the next command's input is the one before it */
	/* A bit for each byte: "((" there is no arithmetic. Once tried, since each attempt reads what is in it as well.
	 */
	unsigned char *no_arithmetic;
};

/* The bytes of a word while it is read, each with what it is. */
enum shell_mark {
	SHELL_MARK_PLAIN,
	SHELL_MARK_QUOTED,
	SHELL_MARK_UNKNOWN,        /* stands for an unquoted expansion */
	SHELL_MARK_UNKNOWN_QUOTED, /* stands for one that stays one word */
	SHELL_MARK_SPLIT,          /* between two words */
	SHELL_MARK_NOTHING,        /* quotes began here: an empty word is one */
};

struct shell_raw {
	struct buffer text;
	struct buffer marks; /* one byte each, enum shell_mark */
	bool quoted;
	size_t from, to; /* in the reader's text */
};

#define SHELL_RAW_INIT                                                                                                 \
	{                                                                                                              \
		.text = BUFFER_INIT(LIMIT_SHELL_TEXT), .marks = BUFFER_INIT(LIMIT_SHELL_TEXT)                          \
	}

void shell_raw_done(struct shell_raw *raw);
#define _cleanup_shell_raw_ __attribute__((cleanup(shell_raw_done)))
int shell_raw_add(struct shell_raw *raw, char byte, enum shell_mark mark);
/* Quotes begin. */
int shell_raw_quotes(struct shell_raw *raw);

/* --- shell_reader.c --- */
/* Memory of the script, counted against LIMIT_SHELL_MEMORY; NULL: none, or past it. */
void *shell_alloc(struct shell_script *script, size_t size);
char *shell_copy(struct shell_script *script, const char *data, size_t len);
/* The byte n after the place, past line continuations there is none; '\0' at the end. */
char shell_peek(const struct shell_reader *r, size_t n);
/* Past joined lines ("\\\n") at the place. */
void shell_skip_joined(struct shell_reader *r);
/* Past blanks, joined lines and a comment. */
void shell_skip_blank(struct shell_reader *r);
/* The same and past newlines, with the bodies of here-documents. */
int shell_skip_newlines(struct shell_reader *r);
/* True, and past it, where the text goes on with token. */
bool shell_take(struct shell_reader *r, const char *token);
/* What is tried first where two readings are possible; undone where it was the other: nothing is found twice. */
struct shell_attempt {
	size_t at, n_commands, n_joints;
	bool ifs_assigned;
	struct shell_heredoc *pending, **pending_end;
};
struct shell_attempt shell_attempt_begin(const struct shell_reader *r);
void shell_attempt_undo(struct shell_reader *r, const struct shell_attempt *a);
/* One level deeper; -E2BIG. Left by shell_leave() only where it returned 0. */
int shell_enter(struct shell_script *script);
void shell_leave(struct shell_script *script);

/* --- shell_word.c --- */
bool shell_ends_word(char c);
/* Reads one word; nothing is read where none begins: raw->from == raw->to. */
int shell_word_read(struct shell_reader *r, struct shell_raw *raw);
/* After the opening quote, past the closing one. Ends at `"`. */
int shell_double_quoted_read(struct shell_reader *r, struct shell_raw *raw);

/* --- shell_expansion.c --- */
/* At a dollar sign or a backtick; quoted: between double quotes or in a here-document. */
int shell_expansion_read(struct shell_reader *r, struct shell_raw *raw, bool quoted);
/* After "<(" or ">(". */
int shell_process_read(struct shell_reader *r, struct shell_raw *raw);
/* At the second "(" of "((" or "$((": reads it as arithmetic where it ends as such, as bash decides: 1, else 0. */
int shell_arithmetic_try(struct shell_reader *r);
/* Past the arithmetic that ends in end ("))" or "]"), with the substitutions in it. -EBADMSG: it does not end so. */
int shell_arithmetic_read(struct shell_reader *r, const char *end);

/* --- shell_field.c --- */
/* A growing list of words in the script's memory. */
struct shell_words {
	struct shell_word *items;
	size_t count, size;
};
int shell_words_add(struct shell_script *script, struct shell_words *words, const struct shell_word *word);
/* The words that a word becomes: braces, tilde, fields. */
int shell_word_expand(struct shell_reader *r, const struct shell_raw *raw, struct shell_words *words);
/* What comes after byte start as one word, as after "=" or "<": no braces, no fields. assigned: ~ counts after ":",
 * too. */
int shell_word_single(struct shell_script *script, const struct shell_raw *raw, size_t start, bool assigned,
		      struct shell_word *ret);
/* One form of a word, without braces: its fields. piece: it was a longer word. */
int shell_field_split(struct shell_script *script, const char *text, const char *marks, size_t len, bool piece,
		      struct shell_words *words);

/* --- shell_brace.c --- */
/* The fields of each form that the braces of the word stand for, in order. */
int shell_brace_expand(struct shell_script *script, const char *text, const char *marks, size_t len,
		       struct shell_words *words);

/* --- shell_heredoc.c --- */
/* After "<<" or "<<-". */
int shell_heredoc_begin(struct shell_reader *r, bool strip_tabs, struct shell_heredoc **ret);
/* After a newline: the bodies that were waiting for it. */
int shell_heredoc_bodies(struct shell_reader *r);

/* --- shell_redirect.c --- */
struct shell_redirects {
	enum shell_input kind;
	struct shell_word input;
	struct shell_heredoc *heredoc; /* the last one wins; its body comes later */
	size_t count;
};
/* Reads one redirection where one begins here: 1, else 0. */
int shell_redirect_read(struct shell_reader *r, struct shell_redirects *redirects);
/* Whether one begins here. Nothing is read. */
bool shell_redirect_peek(struct shell_reader *r);

/* --- shell_simple.c --- */
/* The command that begins with the word raw, or with a redirection where that is empty; or the function that it names.
 */
int shell_simple_read(struct shell_reader *r, struct shell_raw *raw);

/* Adds a copy of c to the script's commands. */
int shell_command_add(struct shell_script *script, const struct shell_command *c);

/* --- shell_parse.c --- */
/* Commands up to what ends the list, which is not read. needed: -EBADMSG where there is none. */
int shell_list_read(struct shell_reader *r, bool needed);
/* One command of any kind: 1; 0 where none begins, as at the end of a list. */
int shell_command_read(struct shell_reader *r);
/* The reserved word at the place, or an operator that stands where one would: in word, which holds 16 bytes; "" for
 * none. Not read. */
void shell_reserved_peek(struct shell_reader *r, char *word);
/* Newlines, and then that reserved word; else -EBADMSG. */
int shell_reserved_take(struct shell_reader *r, const char *word);

/* --- shell_compound.c --- */
/* Where the place is at a reserved word that opens a compound command, that command with its redirections: 1; else 0.
 */
int shell_compound_read(struct shell_reader *r, const char *word);
/* After "name ()". */
int shell_function_body(struct shell_reader *r);

#endif
