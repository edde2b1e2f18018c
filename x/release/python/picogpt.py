"""GPT-2 class text generation: the program gpt, started from Python.

    import picogpt

    picogpt.run(["Once upon a time"])
    with picogpt.serve("-m", "gpt2") as server:
        print(server.base_url)  # of OpenAI's API: http://127.0.0.1:PORT/v1

All else is the program's: gpt --help.
"""

import os
import subprocess
import sys
import sysconfig

__all__ = ["Server", "program", "run", "serve"]


def program():
    """Return the path of gpt, as pip has installed it with this module."""
    name = "gpt.exe" if os.name == "nt" else "gpt"
    here = os.path.dirname(os.path.abspath(__file__))
    user = sysconfig.get_preferred_scheme("user") if sys.version_info >= (3, 10) else os.name + "_user"
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", user),
               os.path.join(here, "bin")]  # the last is pip install --target's
    for folder in folders:
        if os.path.isfile(os.path.join(folder, name)):
            return os.path.join(folder, name)
    raise FileNotFoundError("%s: found in none of %s, want it where pip puts scripts" % (name, folders))


def run(args, **options):
    """Run gpt with a list of arguments; options and result are subprocess.run's."""
    return subprocess.run([program(), *args], **options)


class Server:
    """A gpt serve. It ends with close, with a with block, and with this process, however that ends.

    base_url -- the address of OpenAI's API, with /v1
    process -- the subprocess.Popen
    """

    def __init__(self, *args):
        self.process = subprocess.Popen(
            [program(), "serve", "--child", "--port", "0", *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().strip()
        if not line:
            self.close()
            raise RuntimeError("gpt serve ended with status %d" % self.process.returncode)
        self.base_url = line + "/v1"

    def close(self):
        """End the server, and wait until it has ended."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def serve(*args):
    """Start gpt serve on a free port with more of its arguments; return when it takes requests."""
    return Server(*args)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]).returncode)
