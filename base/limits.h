#ifndef ISOD_BASE_LIMITS_H
#define ISOD_BASE_LIMITS_H
/* Every numeric limit of the project, with its reason. Sizes in bytes unless the name says otherwise. */

/* 6 random bytes as lower-case hex: 2^48 names, short enough to type. */
#define ISOD_ID_LEN 12

/* Largest Varlink message. execve(2) takes at most 2 MiB of arguments and environment under the usual 8 MiB stack
 * (a quarter of it), and JSON may need six bytes for one that is not UTF-8; larger requests could never be run. */
#define LIMIT_MESSAGE (4U << 20)
#define LIMIT_MESSAGE_FDS 8
/* Nesting of JSON: the deepest message of the interface has 5 levels, a policy file 6. */
#define LIMIT_JSON_DEPTH 32
/* Values in one JSON text: bounds memory (about 64 bytes each) whatever the text is. */
#define LIMIT_JSON_VALUES 200000

/* One raw frame of an upgraded connection. */
#define LIMIT_FRAME (64U << 10)

/* A plan in its wire form, and its parts. */
#define LIMIT_PLAN (4U << 20)
#define LIMIT_PLAN_ARGS 65536
/* Each source is a descriptor of isod-launch, and the hard limit of descriptors seen was 20,000. */
#define LIMIT_PLAN_MOUNTS 16384
#define LIMIT_PLAN_RULES 32768
/* Rules with wildcards that allow something: isod-launch walks folders for each of them. */
#define LIMIT_PLAN_SEARCHES 256
#define LIMIT_PATH 4096
/* Bytes of one name: 255 on most file systems; FAT, NTFS and SMB count 255 units of UTF-16. */
#define LIMIT_NAME 1024
/* Bytes of patterns and paths that isod-control compares for one plan: tens of milliseconds in which all others wait.
 * 10,000 rules take a tenth of it; patterns with many "**" about deep paths would take minutes. */
#define LIMIT_PLAN_WORK 50000000
/* Components of a rule's pattern from its first wildcard on: each costs time and memory in every session. */
#define LIMIT_PATTERN_PARTS 32
/* Entries of granted folders that a start looks at for what patterns protect: those nearest to the top, in some tens of
 * milliseconds, where later opens are refused by name anyway; without that all of them, in a few seconds. */
#define LIMIT_SEARCH_GUARDED 50000
#define LIMIT_SEARCH 2000000
/* Bytes of the folders that wait to be looked through. */
#define LIMIT_SEARCH_BYTES (256U << 20)
/* Mounts that the search makes; each costs some 20 us at the start and as much at the end. Where the kernel has no late
 * guard, more of them in folders that can be written to end the start: a secret that is only refused by its name can be
 * renamed, and nothing else keeps what is read-only. */
#define LIMIT_COVERS 16384
/* Entries looked at for the patterns of grants, and grants found: each is a descriptor. */
#define LIMIT_MATCH_ENTRIES 200000
#define LIMIT_MATCHES 4096
/* Egress rules in their wire form: 50,000 rules of about 40 bytes, with room. */
#define LIMIT_EGRESS (8U << 20)
#define LIMIT_EGRESS_RULES 100000
#define LIMIT_PINNED_ADDRESSES 16
/* Hosts with a byte budget of their own: with that of the whole session they are the bits of one number, so that a
 * connection knows what it draws from. */
#define LIMIT_EGRESS_BUDGETS 63
/* Hosts whose TLS clients need not name them: compared one by one with each ClientHello that names none. */
#define LIMIT_EGRESS_NO_SNI 256
/* More than any machine opens in a second. */
#define LIMIT_EGRESS_RATE 1000000
/* The text of a deny rule that its users are shown, in bytes: two lines of a terminal. */
#define LIMIT_DENY_REASON 200

/* A line of shell that the guard reads, with what is in its here-documents. Linux passes no argument of more than 128
 * KiB; what an agent writes in one call has been seen up to some 200 KiB. */
#define LIMIT_SHELL_TEXT (4U << 20)
/* What its reading may take (half a million commands), its words, and how deep its parts may stand in each other:
 * bash's own tests nest 20 deep. */
#define LIMIT_SHELL_MEMORY (256U << 20)
#define LIMIT_SHELL_WORDS 500000
#define LIMIT_SHELL_DEPTH 100
#define LIMIT_SHELL_STEPS 1000000
/* Programs that run programs, one in the other. */
#define LIMIT_SHELL_UNWRAP 20
/* A word whose braces are expanded: each form is a copy of it. */
#define LIMIT_SHELL_BRACES (16U << 10)

#define LIMIT_POLICY_FILE (1U << 20)
#define LIMIT_POLICY_LAYERS 16
/* What one call may bring in policies altogether: 6,000 rules of 40 bytes. Reading them holds all clients up. */
#define LIMIT_POLICY_CALL (256U << 10)
/* Hosts that were granted to one running session: more belong into a policy. */
#define LIMIT_GRANTS 64
/* Of one session, where its policy says ask: questions that wait for an answer (more, nobody reads), connections that
 * are held for them, hosts that were answered no and are refused without asking again, and how long a question waits:
 * many clients give up after a minute or two. */
#define LIMIT_QUESTIONS 16
#define LIMIT_HELD_CONNECTIONS 64
#define LIMIT_REFUSED_HOSTS 64
#define LIMIT_QUESTION_MS 120000U

/* Linux allows 65536 supplementary groups; directories of large companies reach a few hundred. */
#define LIMIT_GROUPS 4096

/* Per uid, root included: what one user may hold of the daemon. */
#define LIMIT_CONNECTIONS_PER_UID 512
#define LIMIT_SESSIONS_PER_UID 256
/* Commands that `isoctl exec` has added to one session and that run: each is two processes. */
#define LIMIT_EXECS_PER_SESSION 64
/* Bytes of messages that are begun and not yet whole, over all connections of a uid: several of the largest at once. */
#define LIMIT_INPUT_PER_UID (32U << 20)
/* Layers of ended sessions that wait for `isoctl apply` or `discard`; each may be a whole project. Then no further one
 * can be begun: a user's work is not thrown away to make room. Only what nobody asked for in a season is. */
#define LIMIT_LAYERS_PER_UID 64
#define LIMIT_LAYER_DAYS 90
/* Files and folders of a layer, and of the project where the layer deletes, that isoctl looks at: what a program made
 * without end must not take all memory (about 200 bytes each). The largest repositories have 500,000. */
#define LIMIT_LAYER_ENTRIES 1000000
/* All together: two fds a connection and about ten a session must fit the hard limit of 20,000 descriptors seen. */
#define LIMIT_CONNECTIONS 4096
#define LIMIT_SESSIONS 1024
/* What isod-control leaves with isod about one running session, for the isod-control after it: its policies as text,
 * twice where they were reloaded. One that needs more ends with isod-control. */
#define LIMIT_KEPT (4U << 20)
/* So many isod-controls may die in a row soon after they were given a session: then that session ends, for it may be
 * the reason. */
#define LIMIT_ADOPTIONS 5
/* Seconds that a client may take to complete a message it has begun. */
#define LIMIT_MESSAGE_SECONDS 10
/* Seconds in which a session must have reported that its program runs. */
#define LIMIT_START_SECONDS 30

/* Of one uid's audit files so many are kept, and so many bytes: months of daily work. One file takes no more than this,
 * about 100,000 connections; those beyond are only counted. */
#define LIMIT_AUDIT_FILES 1000
#define LIMIT_AUDIT_BYTES (256U << 20)
#define LIMIT_AUDIT_FILE (32U << 20)

/* isod-session: live relayed connections of one session. */
#define LIMIT_SESSION_CONNECTIONS 4096
/* Those beyond are told so, as many at a time; further ones are closed unanswered. */
#define LIMIT_SESSION_REFUSALS 256
/* Its look-ups of names: under way at a time, some 2 KiB each; answers that are kept, 1 KiB each, and addresses of one;
 * seconds that one is kept at most, and that there is none. */
#define LIMIT_LOOKUPS 512
#define LIMIT_ANSWERS 64
#define LIMIT_ANSWER_ADDRESSES 32
#define LIMIT_ANSWER_SECONDS 300
#define LIMIT_NO_ANSWER_SECONDS 5
/* Bytes that all of them together may hold in buffers of ours, and what each may hold even then: as many heads of 64
 * KiB as there may be connections would be 256 MiB. */
#define LIMIT_SESSION_BUFFERS (32U << 20)
#define LIMIT_CONNECTION_BUFFERS 8192U
/* Descriptors that connections leave alone: for look-ups of names (8 threads), DNS over TCP, new rules, a terminal. */
#define LIMIT_RESERVED_FILES 128
/* All values of a head's Connection fields: each name in them is compared with each field. */
#define LIMIT_HTTP_CONNECTION 1024
/* The ClientHello is peeked up to this size (post-quantum shares reach 2 KiB, padding 16 KiB), in so many records. */
#define LIMIT_TLS_HELLO (64U << 10)
#define LIMIT_TLS_RECORDS 64
#define LIMIT_HTTP_HEAD (64U << 10)
#define LIMIT_HTTP_HEADERS 128
/* User and password for the upstream proxy: tokens that serve as passwords have a few hundred bytes. */
#define LIMIT_PROXY_AUTH 1024
/* Certificates to trust for the upstream proxy: those of a whole system have 220 KiB. */
#define LIMIT_PROXY_CA (1U << 20)
/* Ports of a session that the host's loopback leads to: each is a listener of isod-session for both families. */
#define LIMIT_PUBLISHED_PORTS 32
/* With those of the host that are lent to it: as many. */
#define LIMIT_PLAN_PORTS (2 * LIMIT_PUBLISHED_PORTS)
/* Connections by way of them at a time; further ones wait to be accepted. */
#define LIMIT_PUBLISHED_CONNECTIONS 256
/* Unix sockets of the host that a session is lent: each is a listener of isod-session. The length of a path is the
 * kernel's (sun_path, with its NUL): no program could name a longer one. */
#define LIMIT_UNIX_SOCKETS 32
#define LIMIT_UNIX_PATH 108
/* Connections to them at a time; further ones wait to be accepted. */
#define LIMIT_UNIX_CONNECTIONS 128
/* Clients that are attached to one session: each may hold 400 KiB of output that it has not read. */
#define LIMIT_ATTACHED 32
/* A watcher that has not read for so long, while there was output, is let go. */
#define LIMIT_WATCHER_MS 10000U
/* Bytes of the last output of a session without terminal that are kept for who comes later: a screen or two of the
 * longest lines. */
#define LIMIT_LAST_OUTPUT (64U << 10)
/* The last screen or output of an ended session, in frames; how many of them are kept, of a user and altogether. A
 * screen of 24 x 80 has 2 to 40 KiB. */
#define LIMIT_LAST_SCREEN (256U << 10)
#define LIMIT_LAST_PER_UID 32
#define LIMIT_LAST 256
/* Names that DNS has invented an address for, one session. */
#define LIMIT_DNS_NAMES 16384

/* Keys that a policy names of the user's ssh-agent, and host keys of the hosts it names: a host has three or four. */
#define LIMIT_SSH_KEYS 256
#define LIMIT_SSH_HOST_KEYS 1024
/* One public key: 16,384 bits of RSA are 2 KiB. */
#define LIMIT_SSH_KEY 4096U
#define LIMIT_SSH_RULES (1U << 20)
/* A request of a program to its ssh-agent (what is signed is a login or a hash; certificates have some KiB), and the
 * answer of the user's agent: OpenSSH's own bound. */
#define LIMIT_SSH_REQUEST (32U << 10)
#define LIMIT_SSH_ANSWER (256U << 10)
/* Connections of one session's programs to it at a time; further ones wait. */
#define LIMIT_SSH_CONNECTIONS 16

/* A session's recording: bytes of the file where the policy says nothing and at most (a terminal at full speed fills
 * the first in a second; an afternoon's work has some MiB), and what may wait for its disk, twice. */
#define LIMIT_RECORD_BUILT_IN (64U << 20)
#define LIMIT_RECORD (16ULL << 30)
#define LIMIT_RECORD_BUFFER (1U << 20)
/* Recordings that policies kept, of one user: the oldest go. */
#define LIMIT_RECORDINGS_KEPT 200

/* Milliseconds that a session's helper may take to say that new rules hold, before whoever asked for them is told that
 * it has not: it closes connections meanwhile, which takes one or two. */
#define LIMIT_RELOAD_MS 10000U

/* Keygrips that a policy names of the user's gpg-agent. */
#define LIMIT_GPG_KEYS 64
/* Assuan's own bound of a line, with its end; of the data of one answer (a signature of RSA 16,384 has some 6 KiB,
 * three times that where every byte is escaped); connections as for ssh. */
#define LIMIT_ASSUAN_LINE 1002U
#define LIMIT_GPG_ANSWER (32U << 10)
#define LIMIT_GPG_CONNECTIONS 16

#endif
