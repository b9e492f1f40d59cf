#ifndef ISOD_LINUX_LATE_RECORD_H
#define ISOD_LINUX_LATE_RECORD_H
/*
 * What the kernel's side of the late guard (late_hooks.bpf.c) knows of a session: one value of one map, keyed by the
 * inode number of the session's pid namespace. Read by both sides, so it has the compiler's own types only.
 *
 * A rule is a name, or up to LATE_DEPTH names one below the other, each with at most one "*". Rules that forbid the
 * same and differ in their last name alone share a bit. For a path the kernel walks from its last name up to the
 * granted folder (the root) and keeps, bit by bit, which rules fit so far; a rule that fits a folder holds for what is
 * in it.
 */

/* Sessions that can be guarded at once: each record takes its 25 KiB of the kernel's memory beforehand. */
#define LATE_SESSIONS 256
#define LATE_DEPTH 4   /* names of a rule */
#define LATE_BITS 64   /* rules, after those that may share one do */
#define LATE_ROOTS 64  /* granted folders */
#define LATE_PLAIN 512 /* places of names without a "*", of which half may be taken */
#define LATE_STARS 128 /* names with one */
#define LATE_SETS 256  /* different sets of rules that a name stands for */
#define LATE_HEAD 32   /* more than the bytes of a name, or of what is before its "*"; a power of two */
#define LATE_TAIL 16   /* more than the bytes after the "*" */
/* Folders that are climbed; what lies deeper counts as granted. */
#define LATE_LEVELS 256
#define LATE_BUCKETS 64
/* Of the two bytes that a name begins with (the second may be its NUL), and of its last one. */
#define LATE_FIRST(one, two) (((one) ^ ((two)*5)) % LATE_BUCKETS)
#define LATE_LAST(byte) ((byte) % LATE_BUCKETS)
/* Of the names with a "*" that one first and one last byte leave, so many of each half are compared. */
#define LATE_CANDIDATES 12

/* What a rule may forbid. */
enum late_op {
	LATE_READ,
	LATE_WRITE,
	LATE_CREATE, /* any new name: made, linked, moved there */
	LATE_UNLINK,
	LATE_MOVE,    /* renamed away */
	LATE_LINK,    /* a second name */
	LATE_REPLACE, /* something moved onto, or a symlink made at, a folder that a rule leads through */
	LATE_FORGE,   /* a file made there */
	LATE_OPS
};

/* A name with a "*". */
struct late_star {
	unsigned char head[LATE_HEAD]; /* zero beyond its length */
	unsigned char tail[LATE_TAIL];
	unsigned int head_len;
	unsigned int tail_len;
	unsigned int set; /* index in .sets */
	unsigned int reserved;
};

struct late_root {
	unsigned long long
		inode;          /* the kernel's address of it; pinned by the session's mount or a descriptor of pid 1 */
	unsigned long long any; /* rules that hold at any depth below */
	unsigned long long direct; /* rules that begin right here */
};

struct late_record {
	/* Plain names, by their hash, in one of two places. By LATE_FIRST: which LATE_LAST there are. */
	unsigned long long ends[LATE_BUCKETS];
	unsigned long long seed;
	unsigned long long plain[LATE_PLAIN]; /* hash, 0 = free */
	unsigned char plain_set[LATE_PLAIN];  /* index in .sets */
	/* Names with a "*" that one with this beginning, this end may be; one bit each. */
	unsigned long long first[LATE_BUCKETS][2];
	unsigned long long last[LATE_BUCKETS][2];
	struct late_star stars[LATE_STARS];
	/* Rules whose name at this place it is; 0 = the last name. Set 0 is empty. */
	unsigned long long sets[LATE_SETS][LATE_DEPTH];

	unsigned long long ops[LATE_OPS];
	unsigned long long length[LATE_DEPTH]; /* rules of one name, of two, ... */
	unsigned long long files_only;         /* not for folders, nor for what is in them */
	unsigned long long itself;             /* not for what is in a folder */
	unsigned long long firm;               /* of those that forbid: the user's own */
	/* Rules that permit, as view/path_rules.h ranks them: an exemption beats built-in rules that are no deeper, a
	 * permission what is less deep, and where it names the very file, built-in rules as deep as itself. */
	unsigned long long exempt;
	unsigned long long exempt_below; /* nothing built in below it: node_modules */
	unsigned long long allow_read;
	unsigned long long allow_write;
	unsigned long long named;
	unsigned int n_roots;
	unsigned int reserved;
	struct late_root roots[LATE_ROOTS];
	unsigned short rule[LATE_BITS]; /* of each bit, one rule that it stands for: its index in the plan */
	unsigned char group[LATE_BITS]; /* and what protects: enum protect_group */
	unsigned long long lost;        /* refusals that found no room in the ring buffer; counted in the kernel */
};

/* The hash of a name, as four words, zero beyond its end. */
static inline unsigned long long late_hash(const unsigned long long words[LATE_HEAD / 8], unsigned long long seed)
{
	for (int i = 0; i < LATE_HEAD / 8; i++) {
		seed = (seed ^ words[i]) * 0x9e3779b97f4a7c15ULL;
		seed ^= seed >> 29;
	}
	return seed | 1;
}

/* Its two places. */
#define LATE_PLACE_1(hash) ((hash) >> 32 & (LATE_PLAIN - 1))
#define LATE_PLACE_2(hash) ((hash) >> 48 & (LATE_PLAIN - 1))

/* A refusal, in the ring buffer. */
#define LATE_RING_BYTES (1 << 18)
#define LATE_REFUSAL_NAMES 8
#define LATE_REFUSAL_NAME 64
struct late_refusal {
	unsigned int session;    /* key */
	int pid;                 /* in the session's pid namespace */
	unsigned int ops;        /* 1 << enum late_op, what was asked */
	unsigned int rule;       /* index in the plan */
	unsigned int group;      /* of the rule */
	unsigned int secret;     /* it is about reading */
	unsigned long long lost; /* of this session, so far */
	char comm[16];
	/* The path from its last name on, as far up as the root or as there is room; then empty. Names may be cut. */
	char names[LATE_REFUSAL_NAMES][LATE_REFUSAL_NAME];
};

/* What the iterator writes for each folder that the asking process has open. */
struct late_folder {
	unsigned int fd;
	unsigned int reserved;
	unsigned long long inode;
};

#endif
