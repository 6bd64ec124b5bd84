"""Serve the small team: `python small_server.py DATABASE PORT`. Each line on standard input starts it again.

Everything is imported once; a new server is a fork of this process, so that one that was killed is back at once.
"""

import os
import sys

import uvicorn
from small_team import SmallShelf, small_team

from defero.service.access import RateLimit
from defero.service.office import Office
from defero.service.serve import Shell
from defero.service.web.app import make_app

FREE = dict.fromkeys(("lead", "expert", "machine", "nobody"), (1000000.0, 1000000.0))


def serve(database, port):
    office = Office.of_team(small_team(), database, rates=RateLimit(FREE), shelf=SmallShelf())
    uvicorn.run(Shell(make_app(office)), port=port, log_level="error", access_log=False, lifespan="on")


def say(word):
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            serve(sys.argv[1], int(sys.argv[2]))
            os._exit(0)
        say(child)
        os.waitpid(child, 0)
        say("gone")
