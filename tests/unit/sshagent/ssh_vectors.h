#ifndef ISOD_TESTS_SSH_VECTORS_H
#define ISOD_TESTS_SSH_VECTORS_H
/* Made by ssh-keygen: public key, fingerprint, a signature (-Y sign -n git) and the bytes it is over, in base64. */

static const struct ssh_vector {
	const char *key; /* "TYPE BASE64" */
	const char *fingerprint;
	const char *signature;
	const char *data;
	bool good; /* strong enough */
} vectors[] = {
	{ "ssh-ed25519 "
	  "AAAAC3NzaC1lZDI1NTE5AAAAILV8o4j+SfkLxE7FyhNBHCh2oLe09SDJ26uJM4jIG9m7",
	  "SHA256:rMFy59/TeToezPSdzOT6O6uziyJorks3wJLrCOZILuo",
	  "AAAAC3NzaC1lZDI1NTE5AAAAQDZcnvACojfrS8eldA7qkqid8uRcoZUkxx2TwXGygmyP7vRr7NVZTrrU4K7ttNlq87ofMwJ+"
	  "nksCJrz3dsNwDAs=",
	  "U1NIU0lHAAAAA2dpdAAAAAAAAAAGc2hhNTEyAAAAQJtx0iS9YvN4XZbUatPqPXMxm/vCiQyq2uLf9yUZZzynIyPD2ZulwR18"
	  "esxuFLjF2gxGY0dcLlw63vRvc7zewEM=",
	  true },
	{ "ecdsa-sha2-nistp256 "
	  "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBARcinPnggKBEGDE9vf4e4K1uWdH1iBe1eywFy6fGicG"
	  "81YZbTQ7/5vukVE9gO7NF673kWNfptSnY7RSQRw2oNk=",
	  "SHA256:KbPXFCmWRPl6xOB++24a1LeavyJ75y6UKKFlpAQHXgE",
	  "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAABJAAAAIQC2pty08APTynuA6VmZvQpR76/XgT9e/9SsQWHxge6gPwAAACBjvIio"
	  "fj6d8bea47Oex7fF90+xWuFd0uo6LFmMnU2txg==",
	  "U1NIU0lHAAAAA2dpdAAAAAAAAAAGc2hhNTEyAAAAQJtx0iS9YvN4XZbUatPqPXMxm/vCiQyq2uLf9yUZZzynIyPD2ZulwR18"
	  "esxuFLjF2gxGY0dcLlw63vRvc7zewEM=",
	  true },
	{ "ecdsa-sha2-nistp384 "
	  "AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhBEAhUtSb4hhmOuw/3erfXpLm2ZmZi8vRMf1dFED1iHsu"
	  "uFDXtdk3caQY9neAm73fws3PCG6rjxnPBFJNIbn/Shzz3duVlxNNgleqqCFZB5lBZhZ+wfb2btGYLa83NKrObA==",
	  "SHA256:An+N2QKNlaEcLZAgQ7j5WB3h2ZMERCw6zzqTtLmhy8I",
	  "AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAABqAAAAMQDuQiGqaquDKuWUmmTVmVTqCqv4qmrti5dhOyFEMZq50oAb0QEynkdY"
	  "kMEHvT7BY6UAAAAxAPkxH38cJf1y3SGzL3DL+CURE3sPJFt7DgAMrXmWQPp//RNeTh51IVxEPBs4zPH4og==",
	  "U1NIU0lHAAAAA2dpdAAAAAAAAAAGc2hhNTEyAAAAQJtx0iS9YvN4XZbUatPqPXMxm/vCiQyq2uLf9yUZZzynIyPD2ZulwR18"
	  "esxuFLjF2gxGY0dcLlw63vRvc7zewEM=",
	  true },
	{ "ecdsa-sha2-nistp521 "
	  "AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBADqIju7alhgbPWiWxUPcvSLWV9yU1wOEa7g/4XGm6Mq"
	  "l4EtELVfNOQibEZsebPkOe1TnH6wqEVvcvgJn8BBvM72ygGvdtR98wovyBaFR+3+f16NJzAFWfaKzKCWOtyz7+Rh5Gapgc2O"
	  "vUONuOlZY6c+NIDtiQVBMUG1JbqdA2tDD/TAgw==",
	  "SHA256:kySD1ciZzWuOw24h2rn8cL+1fAs9yNGVoeJ76zkUrkE",
	  "AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAACMAAAAQgCe4/uXzhRqvKzhLp/C5c44+17DpwIklRk4NcqEK+aXnp5YBcObLpwp"
	  "dseu//sOt+hj95hzxG6LDiBGyiyVNSAl9gAAAEIB4pqja/u9xrUmTwe2Q9hP+xoA0Yp+I6+dobLcvc6kqk5p3IdQ5YmU2qk4"
	  "I6sSU+VWZt92Xclcm+Vs/mTS0VpK/7g=",
	  "U1NIU0lHAAAAA2dpdAAAAAAAAAAGc2hhNTEyAAAAQJtx0iS9YvN4XZbUatPqPXMxm/vCiQyq2uLf9yUZZzynIyPD2ZulwR18"
	  "esxuFLjF2gxGY0dcLlw63vRvc7zewEM=",
	  true },
	{ "ssh-rsa "
	  "AAAAB3NzaC1yc2EAAAADAQABAAABAQCacHR7teg7yd0058dmZwvbo+FT7I8kJK1jqPWDXRfypMunO3DPVSWm0aZfAfuH8PqH"
	  "F1ArCQ00m+ZMJpp6IyDJY7Ky3PIkWYuE4HR/nGODRiQ2LpyACUCIWpDcJQVDIHvbyejVWGg4twTKer+Se2WWp3ynKuAJJ1c+"
	  "a56r/S+Xr0/8tz5l/04RCaHQB58vW2toUdxnWbXdjIClnYChjw8gtJZorCc4tiVb1pNC+KLpL8MGSZw42GDwC44Twnje3M3B"
	  "ogZjTCh1s1QDQ7jJYHvbfadd5oh82Q5E9u1oNkDzZ4ZD7WItJCBhE8IzKzG/Is+NPaToiabib0p2gWf6zRS3",
	  "SHA256:OD8SPPmBVbd6xCJG/lyRmzFxj6RyW4mEKH8PcXR619k",
	  "AAAADHJzYS1zaGEyLTUxMgAAAQAd+NBJMW22L0iixHNEZIRXmspip7cSs5gE0md1VbniYOjYXW4RVkTzS9yLFBQhM5PFlBQV"
	  "HKSK+5DeVKzuJOjoIOp/b7+Fc+Tqkm2ltUaf5wJYDKk5EzIzk5rFmY18BzhEtlheyQ/2HDz3xK6FjHLRmOXaw4pByFNAqLGO"
	  "NOoNUqrO/48UOgvpxzInh+sCH1BqAHaR5GaR6M2K8Q/VMf3XbZODLHt/ZfSz7FoOnf9ZTS+FEsZWkwEm1tarfsRc4EVaSAuj"
	  "odmPUvQg3XZmz48OkWmMCoEALtlSNkFBVTWEmElxzYwjPBvYrEUKFvVKUgRU2DmcD0MmoLNohv9hCPoH",
	  "U1NIU0lHAAAAA2dpdAAAAAAAAAAGc2hhNTEyAAAAQJtx0iS9YvN4XZbUatPqPXMxm/vCiQyq2uLf9yUZZzynIyPD2ZulwR18"
	  "esxuFLjF2gxGY0dcLlw63vRvc7zewEM=",
	  true },
	{ "ssh-rsa "
	  "AAAAB3NzaC1yc2EAAAADAQABAAAAgQDdAxFyDQIxizYNI1p2M/TmNJOcMfJYTg2tKIL4H3uPVGZ0/SX5fJh2YlhuBmfa2PRa"
	  "9LdDJ1kHjJrPfhLhClQq4jh428iAMMp9shdeHx+7qOTsyyAROBujPKYR4euaw8EDHzBtBuIFjp5/bF34ExRRfdq0+/iHgZjA"
	  "M1k2EGEL7Q==",
	  "SHA256:C4DuO43zit3BMMXPm2gbZApW5fsMuI/RxMiz6Rc9tHU",
	  "AAAADHJzYS1zaGEyLTUxMgAAAIA6090Lp7KI5HKJgJpHY06a0TjLqGy8DH7TX0F8WNJCQQg3IubOC05fyLb7FZEsHBEnW1ri"
	  "pV7MZvruu1p9q+Pqay8AB+m4TQdtmOfCSoqZIlu8EIal5T+1uU+2mBk1ugZFzuzgiJwb3+TmeXYv6n1ZU8HVLsdeh6sfwtg3"
	  "KslU3w==",
	  "U1NIU0lHAAAAA2dpdAAAAAAAAAAGc2hhNTEyAAAAQJtx0iS9YvN4XZbUatPqPXMxm/vCiQyq2uLf9yUZZzynIyPD2ZulwR18"
	  "esxuFLjF2gxGY0dcLlw63vRvc7zewEM=",
	  false },
};

#endif
