"""Numbers of the system calls that filters know, and what the calls are refused for."""

NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "chmod": (90, None),
    "chown": (92, None), "chroot": (161, 51), "clock_settime": (227, 112), "clone": (56, 220),
    "clone3": (435, 435), "connect": (42, 203), "delete_module": (176, 106),
    "epoll_create": (213, None), "epoll_create1": (291, 20), "eventfd": (284, None),
    "eventfd2": (290, 19), "execve": (59, 221), "execveat": (322, 281),
    "fanotify_init": (300, 262), "fchmod": (91, 52), "fchmodat": (268, 53),
    "fchmodat2": (452, 452), "fchown": (93, 55), "fchownat": (260, 54), "fcntl": (72, 25),
    "finit_module": (313, 273), "flock": (73, 32), "fork": (57, None),
    "fremovexattr": (199, 16), "fsconfig": (431, 431), "fsetxattr": (190, 7),
    "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433), "futimesat": (261, None),
    "init_module": (175, 105), "inotify_init": (253, None), "inotify_init1": (294, 26),
    "io_pgetevents": (333, 292), "io_setup": (206, 0), "io_submit": (209, 2),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425),
    "ioctl": (16, 29), "ioprio_set": (251, 30), "kcmp": (312, 272), "kexec_file_load": (320, 294),
    "kexec_load": (246, 104), "keyctl": (250, 219), "kill": (62, 129), "lchown": (94, None),
    "lremovexattr": (198, 15), "lsetxattr": (189, 6), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "mmap": (9, 222), "mount": (165, 40), "mount_setattr": (442, 442),
    "move_mount": (429, 429), "mq_notify": (244, 184), "mq_open": (240, 180),
    "msgget": (68, 186), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pipe": (22, None),
    "pipe2": (293, 59), "pivot_root": (155, 41), "prctl": (157, 167), "prlimit64": (302, 261),
    "process_madvise": (440, 440), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60),
    "reboot": (169, 142), "removexattr": (197, 14), "removexattrat": (466, 466),
    "request_key": (249, 218), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "semget": (64, 190), "setns": (308, 268),
    "setpriority": (141, 140), "setsockopt": (54, 208), "settimeofday": (164, 170),
    "setxattr": (188, 5), "setxattrat": (463, 463), "shmat": (30, 196), "shmget": (29, 194),
    "signalfd": (282, None), "signalfd4": (289, 74), "socket": (41, 198),
    "socketpair": (53, 199), "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116),
    "tgkill": (234, 131), "timer_create": (222, 107), "timerfd_create": (283, 85),
    "tkill": (200, 130), "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282),
    "utime": (132, None), "utimensat": (280, 88), "utimes": (235, None), "vfork": (58, None),
    "wait4": (61, 260), "waitid": (247, 95),
}  # fmt: skip
"""By name: the numbers on (x86_64, aarch64); None where the architecture has no such call."""

NEEDLESS = frozenset(
    """acct add_key bpf chroot clock_settime connect delete_module finit_module fsconfig fsmount
    fsopen fspick init_module io_pgetevents io_setup io_submit io_uring_enter io_uring_register
    io_uring_setup kcmp kexec_file_load kexec_load keyctl mount mount_setattr move_mount mq_notify
    name_to_handle_at open_by_handle_at open_tree perf_event_open pidfd_getfd pivot_root
    process_vm_readv process_vm_writev ptrace quotactl reboot request_key setns settimeofday socket
    swapoff swapon syslog timer_create umount2 unshare userfaultfd""".split()
)
"""Calls for which no confined process has a legitimate use."""

LEAVING_TRACES = frozenset(
    """chmod chown epoll_create epoll_create1 eventfd eventfd2 fanotify_init fchmod fchmodat
    fchmodat2 fchown fchownat flock fremovexattr fsetxattr futimesat inotify_init inotify_init1
    ioprio_set kill lchown lremovexattr lsetxattr memfd_create memfd_secret mq_open msgget
    pidfd_open pidfd_send_signal pipe pipe2 process_madvise removexattr removexattrat
    rt_sigqueueinfo rt_tgsigqueueinfo sched_setaffinity sched_setattr sched_setparam
    sched_setscheduler semget setpriority setsockopt setxattr setxattrat shmat shmget signalfd
    signalfd4 socketpair tgkill timerfd_create tkill utime utimensat utimes wait4 waitid""".split()
)
"""Calls that make something which outlives the caller, or that reach another process, or that give
it more of the machine than others have."""
