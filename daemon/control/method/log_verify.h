#ifndef ISOD_CONTROL_LOG_VERIFY_H
#define ISOD_CONTROL_LOG_VERIFY_H
/* A LogVerify call while a thread works on it. */

struct log_verify;

/* The connection is gone; NULL is allowed. */
void log_verify_detach(struct log_verify *job);

#endif
