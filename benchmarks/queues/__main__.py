"""`python -m benchmarks.queues`. Imports nothing by itself: every process of a run imports this module, too."""

import sys

if __name__ == "__main__":
    from benchmarks.queues.compare import main

    sys.exit(main())
