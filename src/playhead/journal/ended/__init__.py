"""[journal]: finds in the records which runs have ended and how long to keep them, to decide what is deleted first."""
