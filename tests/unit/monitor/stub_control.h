#ifndef ISOD_TEST_STUB_CONTROL_H
#define ISOD_TEST_STUB_CONTROL_H

/* The session that every scenario starts. */
#define STUB_ID "00000000000a"

/* Plays isod-control, see stub.c. Returns the exit status. */
int stub_control(int argc, char **argv);

#endif
