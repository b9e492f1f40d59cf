#ifndef ISOD_BASE_SANITIZER_H
#define ISOD_BASE_SANITIZER_H
/* Whether this is a build with the address sanitizer, in both compilers' words. Such a build needs a few system calls
 * more, and is never installed. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED_BUILD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED_BUILD 1
#endif
#endif

#ifdef SANITIZED_BUILD
/* For programs in which the check for leaks cannot work or means nothing; the other checks stay. */
#define SANITIZER_NO_LEAK_CHECK                                                                                        \
	const char *__asan_default_options(void);                                                                      \
	const char *__asan_default_options(void)                                                                       \
	{                                                                                                              \
		return "detect_leaks=0";                                                                               \
	}
#else
#define SANITIZER_NO_LEAK_CHECK
#endif

#endif
