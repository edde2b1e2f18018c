#!/bin/sh
# What this machine is, as far as its tools tell.
uname -srm
grep -m 1 'model name' /proc/cpuinfo
grep -c ^processor /proc/cpuinfo
command -v lscpu >/dev/null && lscpu | grep -E '^(Thread|Core|Socket|NUMA)' # on how many sockets
grep MemTotal /proc/meminfo
df -k "${TMPDIR:-/tmp}"
if command -v nvidia-smi >/dev/null; then # which may take seconds each time
	nvidia-smi --format=csv \
		--query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.memory,power.limit,mig.mode.current
	nvidia-smi --query-compute-apps=pid,used_memory --format=csv
fi
command -v rocm-smi >/dev/null && rocm-smi --showproductname
exit 0
