#!/bin/sh
# What this machine is, as far as its tools tell.
uname -srm
grep -m 1 'model name' /proc/cpuinfo
grep -c ^processor /proc/cpuinfo
grep MemTotal /proc/meminfo
for query in name driver_version memory.total clocks.max.sm clocks.max.memory power.limit; do
	command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=$query --format=csv
done
command -v nvidia-smi >/dev/null && nvidia-smi --query-compute-apps=pid,used_memory --format=csv
command -v rocm-smi >/dev/null && rocm-smi --showproductname
exit 0
