from tests.unit.api.conftest import quiet, recording

__all__ = ["quiet", "recording"]
