"""Waiting for an outside event."""
import time


def wait_for(condition, what, seconds=60):
    """Polls until condition() is true and returns its value; fails with `what` when it does not come."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f'{what}: not within {seconds} s')
