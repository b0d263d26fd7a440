"""[replay]: compares the calls of a running program with the recorded ones. Pure, except for reading values for
reports."""
