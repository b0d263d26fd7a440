"""[export]: deletes journal records that the collector has and no open run needs."""
