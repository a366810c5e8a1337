/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions behind our interposers: libc's, or those of the next one that interposes.
 *
 * INTERPOSED is the complete table. REAL(stat) is the next definition of stat behind our
 * library. All are looked up when the library is loaded, since a later dlsym could wait
 * for the loader's lock, and one of us may be called with it held; a call that comes
 * before that looks up the one it needs.
 */
#ifndef SHIM_VERBS_INTERPOSE_REAL_H
#define SHIM_VERBS_INTERPOSE_REAL_H

/* clang-format off */
#define INTERPOSED(F)                                                                    \
	F(open) F(open64) F(openat) F(openat64) F(creat) F(creat64)                      \
	F(__open_2) F(__open64_2) F(__openat_2) F(__openat64_2)                          \
	F(fopen) F(fopen64) F(freopen) F(freopen64)                                      \
	F(stat) F(stat64) F(lstat) F(lstat64) F(fstatat) F(fstatat64) F(statx)           \
	F(access) F(faccessat) F(eaccess) F(euidaccess)                                  \
	F(opendir) F(scandir) F(scandir64) F(chdir)                                      \
	F(readlink) F(readlinkat) F(__readlink_chk) F(__readlinkat_chk)                  \
	F(realpath) F(__realpath_chk) F(canonicalize_file_name)                          \
	F(getxattr) F(lgetxattr) F(listxattr) F(llistxattr)
/* clang-format on */

enum real_index {
#define REAL_INDEX(name) REAL_##name,
	INTERPOSED(REAL_INDEX)
#undef REAL_INDEX
	REAL_COUNT
};

void *real_address(enum real_index index);

#define REAL(name) ((__typeof__(&(name)))real_address(REAL_##name))

#endif
