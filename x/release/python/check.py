"""What picogpt.py promises, tried with the wheel that is installed: x/release/check runs it."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

import picogpt


def alive(pid):
    """Whether a process is there and no zombie."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends(pid):
    for _ in range(300):
        if not alive(pid):
            return True
        time.sleep(0.1)
    return False


if sys.argv[1:] == ["leave"]:  # a process that is killed while it has a server
    server = picogpt.serve("--log", "off")
    print(server.process.pid, flush=True)
    time.sleep(600)

assert picogpt.run(["-n", "3", "Once"], capture_output=True).returncode == 0
assert picogpt.run(["--no-such-flag"], capture_output=True).returncode == 2
with picogpt.serve("--log", "off") as server:
    body = json.dumps({"prompt": "Once upon a time", "max_tokens": 5, "seed": 1}).encode()
    with urllib.request.urlopen(server.base_url + "/completions", body) as answer:
        assert json.load(answer)["choices"][0]["text"]
    with picogpt.serve("--log", "off") as other:
        assert other.base_url != server.base_url
    pid = server.process.pid
assert server.process.returncode == 0 and not alive(pid)
try:
    picogpt.serve("-m", "/no/such/model")
    raise AssertionError("a server without a model")
except RuntimeError as e:
    assert "status" in str(e)
left = subprocess.Popen([sys.executable, __file__, "leave"], stdout=subprocess.PIPE, text=True)
pid = int(left.stdout.readline())
assert alive(pid)
os.kill(left.pid, signal.SIGKILL)
left.wait()
assert ends(pid), "the server lives after its parent was killed"
print("picogpt.py: as promised")
