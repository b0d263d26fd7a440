"""program under test → memory journal → projection → [recorded]: recorded runs, for the asserts of tests."""
