#include "client/run/run_gpg.h"

#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/policy/policy_texts.h"

#define SOCKET "S.gpg-agent.extra"
/* Bytes of the hash that GnuPG takes, five at a time: eight letters. */
#define HASHED 15

static const char *const runtime[] = { "/run/user", "/run/gnupg/user" };

/* GnuPG's own: the folder of another home is named by the first bytes of the hash of its path, in z-base-32. */
static bool write_hash(const char *path, char ret[HASHED / 5 * 8 + 1])
{
	static const char letters[] = "ybndrfg8ejkmcpqxot1uwisza345h769";
	uint8_t hash[EVP_MAX_MD_SIZE];
	size_t n = 0;

	if (EVP_Q_digest(NULL, "SHA1", NULL, path, strlen(path), hash, NULL) != 1)
		return false;
	for (size_t i = 0; i < HASHED; i += 5) {
		uint64_t bits = 0;

		for (size_t k = 0; k < 5; k++)
			bits = bits << 8 | hash[i + k];
		for (int shift = 35; shift >= 0; shift -= 5)
			ret[n++] = letters[bits >> shift & 31];
	}
	ret[n] = '\0';
	return true;
}

bool run_gpg_socket(size_t i, uid_t uid, const char *home, const char *gnupghome, char *ret, size_t size)
{
	char other[HASHED / 5 * 8 + 1];
	_cleanup_free_ char *folder = NULL;
	size_t n = gnupghome ? strlen(gnupghome) : 0;
	bool is_other;

	while (n > 1 && gnupghome[n - 1] == '/')
		n--;
	if ((n > 0 ? asprintf(&folder, "%.*s", (int)n, gnupghome) : asprintf(&folder, "%s/.gnupg", home)) < 0) {
		folder = NULL;
		return false;
	}
	is_other = strncmp(folder, home, strlen(home)) != 0 || strcmp(folder + strlen(home), "/.gnupg") != 0;
	if (i > ARRAY_SIZE(runtime) || (is_other && !write_hash(folder, other)))
		return false;
	if (i == ARRAY_SIZE(runtime))
		return snprintf(ret, size, "%s/" SOCKET, folder) < (int)size;
	if (is_other)
		return snprintf(ret, size, "%s/%u/gnupg/d.%s/" SOCKET, runtime[i], uid, other) < (int)size;
	return snprintf(ret, size, "%s/%u/gnupg/" SOCKET, runtime[i], uid) < (int)size;
}

int run_gpg_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	for (size_t i = 0; run_gpg_socket(i, geteuid(), policy_texts_home(), getenv("GNUPGHOME"), address.sun_path,
					  sizeof(address.sun_path));
	     i++) {
		_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			return take_fd(&fd);
	}
	return -1;
}
