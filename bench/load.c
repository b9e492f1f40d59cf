/*
 * Load for tunnels: an origin and a client that speak a protocol that is neither TLS nor HTTP, so that only the tunnel
 * itself is measured.
 *   load serve ADDRESS PORT                            origin: 'P' + 63 bytes -> echoed; 'B' + u32 MiB -> that much
 * data load rate  SECONDS PARALLEL PROXY|- PORT HOST PORT   new tunnels a second, each with one ping load ping  SECONDS
 * 1 PROXY|- PORT HOST PORT          latency of a ping in one open tunnel load bulk  MIB PARALLEL PROXY|- PORT HOST PORT
 * that many MiB through each of the tunnels at once; load hold  - COUNT PROXY|- PORT HOST PORT   so many tunnels, each
 * with a ping, then nothing until stdin ends. PROXY - = direct. Prints one line of JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX 2000000
#define PING 64

struct job {
	const char *proxy, *proxy_port, *host, *port;
	double until;
	long done, failed;
	float *samples; /* microseconds */
	long n_samples, max_samples;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int full(int fd, char *data, size_t n, int sending)
{
	for (size_t done = 0; done < n;) {
		ssize_t r =
			sending ? send(fd, data + done, n - done, MSG_NOSIGNAL) : recv(fd, data + done, n - done, 0);

		if (r <= 0)
			return -1;
		done += (size_t)r;
	}
	return 0;
}

static int dial(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_family = AF_INET }, *list;
	int fd, on = 1;

	if (getaddrinfo(host, port, &hints, &list) != 0)
		return -1;
	fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) < 0) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static int open_tunnel(const struct job *j)
{
	char head[600];
	size_t len = 0;
	int fd, n;

	if (strcmp(j->proxy, "-") == 0)
		return dial(j->host, j->port);
	fd = dial(j->proxy, j->proxy_port);
	if (fd < 0)
		return -1;
	n = snprintf(head, sizeof(head), "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", j->host, j->port, j->host,
		     j->port);
	if (full(fd, head, (size_t)n, 1) < 0)
		goto fail;
	while (len < 4 || memcmp(head + len - 4, "\r\n\r\n", 4) != 0) {
		ssize_t r = recv(fd, head + len, sizeof(head) - len, 0);

		if (r <= 0 || (len += (size_t)r) == sizeof(head))
			goto fail;
	}
	if (strncmp(head, "HTTP/1.", 7) != 0 || strncmp(head + 8, " 200", 4) != 0)
		goto fail;
	return fd;
fail:
	close(fd);
	return -1;
}

static int ping(int fd)
{
	char data[PING] = "P";

	return full(fd, data, PING, 1) < 0 || full(fd, data, PING, 0) < 0 ? -1 : 0;
}

static void sample(struct job *j, double began)
{
	if (j->n_samples < j->max_samples)
		j->samples[j->n_samples++] = (float)((now() - began) * 1e6);
}

static void *run_rate(void *data)
{
	struct job *j = data;

	while (now() < j->until) {
		double began = now();
		int fd = open_tunnel(j);

		if (fd < 0 || ping(fd) < 0)
			j->failed++;
		else
			j->done++;
		if (fd >= 0)
			close(fd);
		sample(j, began);
	}
	return NULL;
}

static void *run_ping(void *data)
{
	struct job *j = data;
	int fd = open_tunnel(j);

	if (fd < 0)
		die("tunnel");
	while (now() < j->until) {
		double began = now();

		if (ping(fd) < 0)
			die("ping");
		j->done++;
		sample(j, began);
	}
	close(fd);
	return NULL;
}

static void *run_bulk(void *of)
{
	struct job *j = of;
	unsigned mib = (unsigned)j->max_samples;
	char data[64 << 10];
	unsigned char order[PING] = { 'B', mib & 255, mib >> 8 & 255, mib >> 16 & 255, mib >> 24 };
	unsigned long long left = (unsigned long long)mib << 20;
	int fd = open_tunnel(j);

	if (fd < 0)
		die("tunnel");
	if (full(fd, (char *)order, PING, 1) < 0)
		die("order");
	while (left > 0) {
		ssize_t r = recv(fd, data, sizeof(data), 0);

		if (r <= 0)
			die("bulk");
		left -= (unsigned long long)r;
	}
	close(fd);
	return NULL;
}

static void run_hold(struct job *j, int count)
{
	char byte;

	for (int i = 0; i < count; i++) {
		int fd = open_tunnel(j);

		if (fd < 0 || ping(fd) < 0)
			die("tunnel");
	}
	printf("{\"held\":%d}\n", count);
	fflush(stdout);
	(void)!read(0, &byte, 1);
}

static void *serve_one(void *data)
{
	static char zeros[1 << 18];
	int fd = (int)(long)data, on = 1;
	char order[PING];

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	while (full(fd, order, PING, 0) == 0) {
		if (order[0] == 'P') {
			if (full(fd, order, PING, 1) < 0)
				break;
			continue;
		}
		unsigned long long left = (unsigned long long)((unsigned char)order[1] | (unsigned char)order[2] << 8)
					  << 20;

		while (left > 0) {
			size_t n = left < sizeof(zeros) ? (size_t)left : sizeof(zeros);

			if (full(fd, zeros, n, 1) < 0)
				break;
			left -= n;
		}
	}
	close(fd);
	return NULL;
}

static void serve(const char *address, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	inet_pton(AF_INET, address, &a.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1024) < 0)
		die("listen");
	puts("ready");
	fflush(stdout);
	alarm(600);
	for (;;) {
		int c = accept(fd, NULL, NULL);
		pthread_attr_t attr;
		pthread_t t;

		if (c < 0)
			continue;
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 64 << 10);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		if (pthread_create(&t, &attr, serve_one, (void *)(long)c) != 0)
			close(c);
	}
}

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static struct job jobs[256];
	pthread_t threads[256];
	int parallel, is_ping;
	double seconds;
	struct job all = { 0 };

	signal(SIGPIPE, SIG_IGN);
	if (argc == 4 && strcmp(argv[1], "serve") == 0)
		serve(argv[2], argv[3]);
	if (argc != 8)
		return 2;
	parallel = atoi(argv[3]);
	seconds = atof(argv[2]);
	is_ping = strcmp(argv[1], "ping") == 0;
	all = (struct job){ argv[4], argv[5], argv[6], argv[7] };
	if (strcmp(argv[1], "hold") == 0) {
		run_hold(&all, parallel);
		return 0;
	}
	if (strcmp(argv[1], "bulk") == 0) {
		double began = now();

		for (int i = 0; i < parallel && i < 256; i++) {
			jobs[i] = all;
			jobs[i].max_samples = atoi(argv[2]);
			pthread_create(&threads[i], NULL, run_bulk, &jobs[i]);
		}
		for (int i = 0; i < parallel && i < 256; i++)
			pthread_join(threads[i], NULL);
		printf("{\"gbit_s\":%.2f}\n", seconds * parallel * 8 * 1048576 / 1e9 / (now() - began));
		return 0;
	}
	all.samples = malloc(sizeof(float) * SAMPLES_MAX);
	for (int i = 0; i < parallel && i < 256; i++) {
		jobs[i] = (struct job){ argv[4], argv[5], argv[6], argv[7], .until = now() + seconds };
		jobs[i].max_samples = SAMPLES_MAX / parallel;
		jobs[i].samples = malloc(sizeof(float) * (size_t)jobs[i].max_samples);
		pthread_create(&threads[i], NULL, is_ping ? run_ping : run_rate, &jobs[i]);
	}
	for (int i = 0; i < parallel && i < 256; i++) {
		pthread_join(threads[i], NULL);
		all.done += jobs[i].done;
		all.failed += jobs[i].failed;
		memcpy(all.samples + all.n_samples, jobs[i].samples, sizeof(float) * (size_t)jobs[i].n_samples);
		all.n_samples += jobs[i].n_samples;
	}
	qsort(all.samples, (size_t)all.n_samples, sizeof(float), compare);
	printf("{\"per_second\":%.0f,\"failed\":%ld,\"p50_us\":%.1f,\"p99_us\":%.1f}\n", (double)all.done / seconds,
	       all.failed, (double)all.samples[all.n_samples / 2], (double)all.samples[all.n_samples * 99 / 100]);
	return 0;
}
