#ifndef ISOD_BASE_LOG_H
#define ISOD_BASE_LOG_H
/*
 * Daemon logging to stderr, one line a call, with the <N> priority prefix that journald understands when stderr is not
 * a terminal. Control characters in the text are shown as \xNN. Every call preserves errno.
 * Only the function that owns a failure logs it; libraries (base, json, proto, policy, wire) never log.
 */
enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7 };

/* program: static string, the prefix of each line. */
void log_open(const char *program, enum log_level max);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
