"""program under test → memory journal → projection → [recorded]: what a program did, for the asserts of its tests."""
