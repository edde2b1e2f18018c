#!/bin/sh
# Tries picogpt on this machine's GPU, in nine minutes at most: ./run.sh [RESULT.json]
exec "$(dirname "$(readlink -f "$0")")/kit" run "$@"
