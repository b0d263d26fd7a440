"""[replay]: compares the calls of a running program with the recorded ones.  Pure but for reading values to show."""
