"""[export]: deletes journal records that were delivered and that no open run needs."""
