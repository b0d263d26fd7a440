"""Writers, forks, deletion and forgetting against sweeps on a real database: nothing that is still named is lost."""
